#pragma once
// The figures of an evaluation as eval and bench print them.

#include <nlohmann/json.hpp>

#include "parsnets/training.hpp"

namespace parsnets::cli {

/// {"zsl": {...}, "gzsl": {...}} in percent.
nlohmann::ordered_json evaluation_json(const TestReport& report, const Model& model);

}  // namespace parsnets::cli
