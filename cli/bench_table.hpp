#pragma once
// The rows of bench as lines of a Markdown table.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/reference.hpp"

namespace parsnets::cli {

std::string bench_table_head();
/// A line for {"method", "runs", "error"?}.
std::string bench_table_row(const nlohmann::ordered_json& method);
/// A line for each row that was not measured here.
std::string cited_table_rows(const std::vector<CitedRow>& rows);

}  // namespace parsnets::cli
