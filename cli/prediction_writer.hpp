#pragma once
// Predictions as a CSV table or one JSON object, written as they come: to standard output, or to a file that appears
// whole or not at all.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "parsnets/ranking.hpp"

namespace parsnets::cli {

/// Whether a sample is of any class of the model (Rejection).
struct Verdict {
  float known_score = 0;
  bool is_unknown = false;
};

class PredictionWriter {
 public:
  /// `out` empty: standard output. With a coverage the classes of samples are prediction sets. Refers to `names` and
  /// `seen`. Throws bad_input if `out` cannot be written.
  PredictionWriter(const std::filesystem::path& out, bool json, const std::vector<std::string>& names,
                   std::span<const std::uint8_t> seen, std::optional<double> coverage);

  std::size_t samples() const { return samples_; }
  /// The classes of the next sample, best first, and the verdict where samples are judged, else null.
  void add(std::span<const RankedClass> classes, const Verdict* verdict);
  /// Hands on what was added so far.
  void flush();
  /// After the last sample: the file replaces an earlier one.
  void finish();

 private:
  bool json_;
  const std::vector<std::string>& names_;
  std::span<const std::uint8_t> seen_;
  std::optional<AtomicFile> file_;
  std::string text_;
  const char* classes_key_;
  std::size_t samples_ = 0;
};

/// The format of a file: by its ending .json or .csv; of another one as standard output would have it.
bool writes_json(const std::filesystem::path& out, bool json);

}  // namespace parsnets::cli
