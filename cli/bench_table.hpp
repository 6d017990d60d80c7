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
/// What to read below the table: the intervals of each row, and the differences of the others from the first. "" if no
/// row has intervals.
std::string bench_uncertainty(const nlohmann::ordered_json& methods);

}  // namespace parsnets::cli
