#pragma once
// The results of an evaluation as eval and bench print them.

#include <nlohmann/json.hpp>

#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "parsnets/uncertainty.hpp"

namespace parsnets {

/// {"units": "percent", "zsl": {...}, "gzsl": {...}}. `gamma_from`: where gamma comes from.
nlohmann::ordered_json evaluation_json(const Evaluation& report, const std::string& gamma_from);

/// {"zsl": {"estimate", "low", "high"}, "u", "s", "h"}: percent; the last three with GZSL alone.
nlohmann::ordered_json intervals_json(const EvaluationIntervals& intervals);

}  // namespace parsnets
