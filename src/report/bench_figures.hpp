#pragma once
// Sweeps and ablations, from what `bench --out` wrote.

#include <nlohmann/json.hpp>
#include <string>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Adds "sweep" or "ablation" to the JSON of a run when the bench file holds one; other files are left alone. `text` is
/// the file, `name` is for messages. Throws bad_input for a file that is no JSON object, is of other data than `data`,
/// or is the second of its kind.
void add_bench_figures(const std::string& text, const std::string& name, const Dataset& data,
                       nlohmann::ordered_json& run);

}  // namespace parsnets
