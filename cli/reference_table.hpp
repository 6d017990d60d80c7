#pragma once
// Rows that were not measured here, as reference and eval print them.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/reference.hpp"

namespace parsnets::cli {

struct ReferenceTable {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;  ///< a line each, or a sentence when there are none
};

ReferenceTable reference_table(const std::vector<CitedRow>& rows, bool transductive);

}  // namespace parsnets::cli
