#pragma once
// What confidences are worth on test samples: reliability, and prediction sets.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "eval/metrics.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

/// Of the test samples of seen or of unseen classes, added some at a time. Refers to everything it is given.
class ConfidenceCount {
 public:
  /// `thresholds`: of each coverage one per class of the ranking.
  ConfidenceCount(const Ranking& ranking, std::span<const std::vector<float>> thresholds)
      : ranking_(ranking), thresholds_(thresholds), covered_(thresholds.size()), classes_(thresholds.size()) {}

  /// n x C raw scores and n labels, which are candidates.
  void add(std::span<const std::int32_t> labels, MatrixView<const float> scores);

  /// Without bins if no sample was added.
  Reliability reliability() const;
  /// Of the sets of one coverage.
  SetSide set(std::size_t coverage) const;

 private:
  const Ranking& ranking_;
  std::span<const std::vector<float>> thresholds_;
  std::vector<float> row_, confidences_;
  std::vector<std::uint8_t> correct_;
  std::vector<std::uint64_t> covered_, classes_;  ///< of each coverage: samples with their class, and classes in sets
};

// Prediction sets and reliability of an evaluation, as eval and the report write them.

/// [{"stated", "seen": {"samples", "coverage", "size"}, "unseen": {..., "calibrated_on": "validation classes"}}], by
/// coverage, in percent; null for a side without samples, and for models without prediction sets.
nlohmann::ordered_json sets_json(const EvaluationDetails& result);

/// {"seen": {"samples", "ece", "bins": [{"samples", "confidence", "accuracy"}]}, "unseen": {...}} in percent; null for
/// a side without samples, as the confidence and the accuracy of a bin without samples.
nlohmann::ordered_json reliability_json(const EvaluationDetails& result);

}  // namespace parsnets
