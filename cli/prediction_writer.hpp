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

class PredictionWriter {
 public:
  /// `out` empty: standard output. Refers to `names` and `seen`. Throws bad_input if `out` cannot be written.
  PredictionWriter(const std::filesystem::path& out, bool json, const std::vector<std::string>& names,
                   std::span<const std::uint8_t> seen);

  std::size_t samples() const { return samples_; }
  /// The classes of the next sample, best first.
  void add(std::span<const RankedClass> top);
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
  std::size_t samples_ = 0;
};

/// The format of a file: by its ending .json or .csv; of another one as standard output would have it.
bool writes_json(const std::filesystem::path& out, bool json);

}  // namespace parsnets::cli
