#pragma once
// A training record as JSON: in the model file, in the C ABI and on the command line.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "parsnets/train_record.hpp"

namespace parsnets {

/// {} for an empty record.
nlohmann::ordered_json to_json(const TrainRecord& record);

/// The reverse; `name` names the source in errors. Throws bad_input for what is not JSON and, naming the field, for one
/// that is missing or of another type.
TrainRecord train_record_from_json(std::string_view text, const std::string& name);

}  // namespace parsnets
