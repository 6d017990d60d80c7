#pragma once
// Recogniser: what prediction needs of a model file or a device file, and what it finds for some samples.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parsnets/feature_source.hpp"
#include "parsnets/model.hpp"
#include "parsnets/processes.hpp"
#include "parsnets/ranking.hpp"

namespace parsnets::cli {

/// What is asked beside the best classes.
struct Wanted {
  bool reject = false;             ///< a verdict on each sample
  std::optional<double> coverage;  ///< prediction sets instead of the best classes
  std::size_t reasons = 0;         ///< attributes that decided for the best class
};

/// Whether a sample is of any class of the model (Rejection).
struct Verdict {
  float known_score = 0;
  bool is_unknown = false, best_is_seen = false;
  Evidence evidence;  ///< of models; device files keep theirs to themselves
};

struct Recogniser {
  std::vector<std::string> names;
  std::vector<std::uint8_t> seen;
  double gamma = 0, temperature = 1;
  std::size_t dimensions = 0, outputs = 0;
  std::vector<std::string> attribute_names = {};
  /// What made the features of training. None: not known.
  std::optional<FeatureSource> source = {};
  /// The best classes of each row, equally many. Verdicts: none, or one per row.
  std::function<void(MatrixView<const float>, const Ranking&, std::span<RankedClass>, std::span<Verdict>)> rank = {};
  /// Of each class, the confidence from which on it is in prediction sets; empty without a coverage.
  std::vector<float> thresholds = {};
  std::function<void(MatrixView<const float>, const ScoreVisitor&)> visit_scores = {};  ///< for prediction sets
  /// Why a sample was given its class.
  std::function<Explanation(std::span<const float>, ThreadPool&)> explain = {};
  /// Why rejection is not to be relied on; empty if it is, and for device files, which do not keep its price.
  std::string weakness = {};
  /// Why a sample is unknown; empty for device files.
  std::function<std::string(const Verdict&)> why = {};
};

/// Of a model file or a device file, which is told by its content. Refers to `pool`. Throws bad_input, and usage for
/// what the file cannot do.
Recogniser open_recogniser(const std::string& file, const Wanted& wanted, ThreadPool& pool);

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

/// `top` classes of each row, or prediction sets where the recogniser has thresholds.
Predictions predictions_of(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows,
                           std::size_t top, const Wanted& wanted, ThreadPool& pool);

/// Those of all processes in the order of their shares, for the first process.
Predictions gathered(Predictions own, Processes& processes);

}  // namespace parsnets::cli
