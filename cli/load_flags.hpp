#pragma once
// The options of every command that reads a data set folder.

#include <filesystem>
#include <memory>
#include <string>

#include "base/file.hpp"
#include "base/options.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "data/load_options.hpp"
#include "data/sample_set.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/field.hpp"
#include "parsnets/model.hpp"
#include "parsnets/train_record.hpp"

namespace parsnets::cli {

/// load_dataset() with the seed of the command.
Dataset load_data(LoadOptions& load, const std::filesystem::path& folder, const Context& context);

/// The data set in `folder` for a model. Where they were not given and the files are there: the features, the semantics
/// and the split that it was trained with; the split only for a folder of the same name. A
/// folder of photographs is read with the backbone of training.
Dataset load_as_trained(LoadOptions& load, const std::filesystem::path& given, const DataProvenance& trained,
                        Context& context);

/// The name by which a command's table has its limit.
inline constexpr const char* kMemoryLimit = "memory-limit";

inline void add_memory_limit(OptionTable& table, std::uint64_t& limit) {
  table.bytes(kMemoryLimit, limit,
              "maximum memory of the process: larger features stay on disk; fails before starting if the work does not "
              "fit");
}

/// The options of commands that read a data set and nothing else.
inline void add_data_options(OptionTable& table, LoadOptions& load) {
  add_load_options(table, load);
  add_memory_limit(table, load.memory_limit);
}

/// A model file, or a device file, of these bytes alone.
inline void add_sha256(OptionTable& table, std::string& sum) {
  table.text("sha256", sum, "refuse a model file with another SHA-256 than this, which 'parsnets info' prints")
      .advanced();
}
inline void check_sha256(const std::string& sum) {
  refuse_if(!sum.empty() && (sum.size() != 64 || sum.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos),
            "--sha256: expected 64 hexadecimal digits, found '{}'", sum);
}

/// Why a model and features may not fit: only one of them says which network made its features. Otherwise "".
std::string source_doubt(const std::optional<FeatureSource>& trained, const std::optional<FeatureSource>& found,
                         const std::string& file);
/// Of a features file given on the command line.
inline std::string source_doubt(const std::optional<FeatureSource>& trained, const std::filesystem::path& file) {
  return source_doubt(trained, read_feature_source(file), file.string());
}

inline std::string source_doubt(const std::optional<FeatureSource>& trained, const Dataset& data) {
  return source_doubt(trained, data.source, features_source(data));
}

/// "adapted and taught": what a model learned since training; "" if nothing.
inline std::string learned_text(const Model& model) {
  const bool adapted = is_adapted(model), taught = is_taught(model);
  return std::string(adapted ? "adapted" : "") + (adapted && taught ? " and " : "") + (taught ? "taught" : "");
}

// A model that a command changes, in place or into another file.

/// Makes load, change and save one step when the model is changed in place, and refuses an impossible `out` early.
/// `out` empty: in place.
inline std::unique_ptr<FileLock> hold(const std::string& model, const std::filesystem::path& out,
                                      ProgressObserver* progress) {
  std::error_code absent;
  check_writable(out.empty() ? std::filesystem::path(model) : out);
  if (!out.empty() && !std::filesystem::equivalent(model, out, absent)) return nullptr;
  return std::make_unique<FileLock>(model, progress);
}

/// Returns the file that was written.
inline std::filesystem::path save_changed(const Model& changed, const std::string& model,
                                          const std::filesystem::path& out) {
  const std::filesystem::path file = out.empty() ? std::filesystem::path(model) : out;
  make_folder_of(file);
  save_model(changed, file);
  return file;
}

}  // namespace parsnets::cli
