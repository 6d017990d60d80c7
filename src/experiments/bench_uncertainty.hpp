#pragma once
// Which test samples the runs of bench predicted right, and what follows from it, as JSON.

#include <nlohmann/json.hpp>
#include <optional>

#include "parsnets/dataset.hpp"
#include "parsnets/uncertainty.hpp"

namespace parsnets {

/// {"zsl", "unseen"?, "seen"?}: one bit per test sample as in sample_set.hpp, in the order of the split.
nlohmann::ordered_json correctness_json(const Correctness& correct);

/// The outcomes of runs on `data`. Nothing without runs, or if one does not say which samples were right: runs of
/// version 0.1 do not. Throws bad_input for bits that do not fit the data.
std::optional<Outcomes> outcomes_of_runs(const nlohmann::ordered_json& runs, const Dataset& data);

/// {"zsl": {"difference", "low", "high", "p", "exact"}, "u", "s", "h"}: points; the last three with GZSL alone.
nlohmann::ordered_json comparison_json(const PairedComparison& comparison);

}  // namespace parsnets
