#pragma once
// Prediction sets and reliability of an evaluation, as eval and the report write them.

#include <nlohmann/json.hpp>

#include "parsnets/evaluation.hpp"

namespace parsnets {

/// [{"stated", "seen": {"samples", "coverage", "size"}, "unseen": {..., "calibrated_on": "validation classes"}}], by
/// coverage, in percent; null for a side without samples, and for models without prediction sets.
nlohmann::ordered_json sets_json(const Evaluation& result);

/// {"seen": {"samples", "ece", "bins": [{"samples", "confidence", "accuracy"}]}, "unseen": {...}} in percent; null for
/// a side without samples, as the confidence and the accuracy of a bin without samples.
nlohmann::ordered_json reliability_json(const Evaluation& result);

}  // namespace parsnets
