#pragma once
// The protocol for anything that scores classes.

#include <functional>

#include "parsnets/evaluation.hpp"

namespace parsnets {

struct Scorer {
  const std::vector<std::string>& class_names;
  const std::vector<std::uint8_t>& class_seen;
  double gamma = 0;
  std::function<void(MatrixView<const float>, const ScoreVisitor&)> visit_scores;  ///< of n x d raw features
  double temperature = 1;
  Processes* processes = nullptr;  ///< each scores a part of the samples, all count the same; null: this one alone
  const PredictionSets* sets = nullptr;    ///< null: none
  std::span<const double> coverages = {};  ///< of the sets
};

/// As evaluate().
Evaluation evaluate_scorer(const Scorer& scorer, const Dataset& data, ProgressObserver* progress);

}  // namespace parsnets
