#pragma once
// The results of open-set recognition as eval prints them and the report shows them.

#include <nlohmann/json.hpp>

#include "parsnets/open_set_evaluation.hpp"

namespace parsnets {

/// {"units", "false_accept", "turns", "not_in_bank", "known_seen": {...}, "known_unseen", "unknown", "known_right",
/// "known_score": {"auroc", "fpr95", "oscr"}, "confidence", "no_class": [...], "warnings"}; without curves and samples.
nlohmann::ordered_json open_set_json(const OpenSetEvaluation& result, const Rejection& rejection);

}  // namespace parsnets
