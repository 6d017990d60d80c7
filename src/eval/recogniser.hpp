#pragma once
// Recogniser: anything that scores classes, a model or a device file alike.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/processes.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/feature_source.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

/// Whether a sample is of any class of the model (Rejection).
struct Verdict {
  float known_score = 0;
  bool is_unknown = false, best_is_seen = false;
  Evidence evidence;  ///< of models; device files keep theirs to themselves
};

/// What evaluation and prediction need of a model or a device file. Functions that it cannot do are empty.
struct Recogniser {
  std::vector<std::string> names;
  std::vector<std::uint8_t> seen;
  double gamma = 0, temperature = 1;
  std::size_t dimensions = 0, outputs = 0;
  std::vector<std::string> attribute_names = {};
  std::optional<FeatureSource> source = {};  ///< what made the features of training; none: not known
  PredictionSets sets = {};                  ///< empty: not calibrated
  std::string weakness = {};                 ///< why rejection is not to be relied on; empty: it is, or not known
  /// Scores of n x d raw features, some rows at a time; gamma is not applied.
  std::function<void(MatrixView<const float>, const ScoreVisitor&)> visit_scores = {};
  /// The best classes of each row, equally many. Verdicts: none, or one per row.
  std::function<void(MatrixView<const float>, const Ranking&, std::span<RankedClass>, std::span<Verdict>)> rank = {};
  /// Why a sample was given its class.
  std::function<Explanation(std::span<const float>, ThreadPool&)> explain = {};
  /// Why a sample is unknown.
  std::function<std::string(const Verdict&)> why = {};
};

/// Refers to the pool. The model must not change.
Recogniser recogniser_of(std::shared_ptr<const Model> model, ThreadPool& pool);

/// The protocol of evaluate() for anything that scores classes.
Evaluation evaluate(const Recogniser& recogniser, const Dataset& data, ProgressObserver* progress,
                    Processes* processes = nullptr, std::span<const double> coverages = {});

}  // namespace parsnets
