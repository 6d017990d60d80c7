#pragma once
// The recogniser in a model file or a device file, and what it finds for some samples.

#include <optional>
#include <string>
#include <vector>

#include "base/processes.hpp"
#include "eval/recogniser.hpp"

namespace parsnets::cli {

/// What is asked beside the best classes.
struct Wanted {
  bool reject = false;             ///< a verdict on each sample
  std::optional<double> coverage;  ///< prediction sets instead of the best classes
  std::size_t reasons = 0;         ///< attributes that decided for the best class
  /// Of each class, the confidence from which on it is in prediction sets; found by open_recogniser().
  std::vector<float> thresholds = {};
};

/// Of a model file or a device file, which is told by its content. Refers to `pool`. Throws bad_input, and usage for
/// what the file cannot do.
Recogniser open_recogniser(const std::string& file, Wanted& wanted, ThreadPool& pool);

/// What decided beside attributes, as in Explanation.
struct BesideAttributes {
  double calibration = 0, examples = 0;
};

/// What was found for some samples, in their order.
struct Predictions {
  std::vector<RankedClass> classes;
  std::vector<std::uint32_t> counts;     ///< classes of each sample
  std::vector<Verdict> verdicts;         ///< of each, or none
  std::vector<std::int32_t> runners_up;  ///< of each sample that is explained; the best class where there is no other
  std::vector<Contribution> reasons;     ///< equally many of each such sample, largest first
  std::vector<BesideAttributes> beside;  ///< of each such sample
};

/// `top` classes of each row, or prediction sets where these are wanted.
Predictions predictions_of(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows,
                           std::size_t top, const Wanted& wanted, ThreadPool& pool);

/// Those of all processes in the order of their shares, for the first process.
Predictions gathered(Predictions own, Processes& processes);

}  // namespace parsnets::cli
