#pragma once
// Published rows as reference and eval print them.

#include <nlohmann/json.hpp>
#include <string>

#include "eval/reference.hpp"

namespace parsnets::cli {

struct ReferenceTable {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;  ///< a line each, or a sentence when there are none
};

/// The published rows of a set (place in kReferenceSets).
ReferenceTable reference_table(std::size_t set, bool transductive);
/// The same by the name of a data set; no rows for another than those of kReferenceSets.
ReferenceTable reference_table(const std::string& set, bool transductive);

}  // namespace parsnets::cli
