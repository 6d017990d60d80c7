#pragma once
// Training that made a model, repeated: train --like.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/options.hpp"
#include "parsnets/train_record.hpp"
#include "stats.hpp"

namespace parsnets::cli {

/// The model whose training is repeated.
class Repetition {
 public:
  /// Throws bad_input for what is not a model, or has no record of what was asked.
  explicit Repetition(const std::filesystem::path& model);

  /// Throws usage for options beside --like that say how to train, and for an output that is the model itself.
  void check_options(const Context& context, const std::filesystem::path& out) const;

  /// The options of that training. A split file is looked for in `data`, beside the model, and in the current folder.
  void ask_again(const std::filesystem::path& data, TrainOptions& train, LoadOptions& load) const;

  /// Throws bad_input that names what differs from the data of that training. `statistics` nullptr: none.
  void check_data(const Dataset& data, const std::string& folder, const StatisticsInput* statistics) const;

  /// Why the files cannot, or need not, be equal; empty if nothing is known against it.
  std::vector<std::string> reasons(const Dataset& data) const;

  /// {"model", "identical", "difference", "reasons"} of the file that was written.
  nlohmann::ordered_json compare(const std::filesystem::path& written, const Dataset& data) const;
  static std::string text_of(const nlohmann::ordered_json& comparison);

 private:
  std::filesystem::path file_;
  Model model_;
};

// The command line that made a model, from its record.

/// A word as a shell takes it: quoted where it must be.
std::string shell_word(const std::string& word);

/// "parsnets train --data CUB --preset auto --seed 1 --out m.safetensors"; `target` is the last part. Empty for a
/// record without a request, and for what no command line says: data or statistics from memory, two seeds.
std::string made_by(const TrainRecord& record, const std::string& data, const std::string& target);

}  // namespace parsnets::cli
