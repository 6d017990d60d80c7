#pragma once
// Learning in the field, from what `eval --transductive` and `eval --few-shot` wrote.

#include <nlohmann/json.hpp>
#include <string>

#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

/// Adds a protocol to "transductive", or "few_shot", to the JSON of a run when the file holds one; other files are left
/// alone. `test` is the evaluation of the run's model. Throws bad_input for a file that is no JSON object, is of other
/// data or of another model, or is the second of its kind.
void add_field_figures(const std::string& text, const std::string& name, const Dataset& data, const Evaluation& test,
                       nlohmann::ordered_json& run);

}  // namespace parsnets
