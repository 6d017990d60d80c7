#pragma once
// Predictions as a CSV table, one JSON object or a human-readable table, written as they come: to standard output, or
// to a file that appears whole or not at all.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "eval/recogniser.hpp"
#include "photo_rows.hpp"

namespace parsnets::cli {

/// For tables: at most `width` characters; the last one of a longer text is "…".
std::string shortened(const std::string& text, std::size_t width);

/// What is asked beside the best classes.
struct Wanted {
  bool reject = false;             ///< a verdict on each sample
  std::optional<double> coverage;  ///< prediction sets instead of the best classes
  std::size_t reasons = 0;         ///< attributes that decided for the best class
  /// Of each class, the confidence from which on it is in prediction sets; found by predict when it opens the model.
  std::vector<float> thresholds = {};
};

/// What decided beside attributes, as in Explanation.
struct BesideAttributes {
  double calibration = 0, examples = 0;
};

enum class PredictionFormat { csv, json, table };

/// What was found for one sample.
struct Prediction {
  std::size_t sample;                          ///< its number
  std::span<const RankedClass> classes;        ///< best first
  const Verdict* verdict = nullptr;            ///< where samples are judged
  std::string why = {};                        ///< of an unknown sample, where that is known
  std::int32_t runner_up = 0;                  ///< what `reasons` decided against
  std::span<const Contribution> reasons = {};  ///< largest first; those that are not positive are not told
  BesideAttributes beside = {};                ///< what else decided, where there are reasons
  std::string image = {};                      ///< file, of a photograph
};

class PredictionWriter {
 public:
  /// `out` empty: standard output. `photos`: all samples, or none if they are rows of features. Refers to `wanted` and
  /// `model`. Throws bad_input if `out` cannot be written.
  PredictionWriter(const std::filesystem::path& out, PredictionFormat format, const Wanted& wanted,
                   const Recogniser& model, std::span<const ListedImage> photos);

  /// The next sample.
  void add(const Prediction& prediction);
  /// Hands on what was added so far.
  void flush();
  /// After the last sample: the file replaces an earlier one.
  void finish(std::span<const SampleImage> unreadable);
  /// After a failure. Returns whether an object has been begun on standard output; it ends after its predictions then,
  /// without its brace.
  bool break_off();

 private:
  void add_csv(const Prediction& prediction);
  void add_json(const Prediction& prediction);
  void add_table(const Prediction& prediction);
  std::string reason_text(const Prediction& prediction) const;

  PredictionFormat format_;
  const Wanted& wanted_;
  const Recogniser& model_;
  bool images_, why_;  ///< samples are photographs; unknown ones say why
  std::optional<AtomicFile> file_;
  std::string text_;
  bool is_first_ = true, begun_ = false;
  std::size_t sample_width_ = 6, class_width_ = 7;  ///< in a table; at least the head, and "unknown"
};

/// The name of an attribute, or its number counted from 1.
std::string attribute_name(const std::vector<std::string>& names, std::size_t a);

}  // namespace parsnets::cli
