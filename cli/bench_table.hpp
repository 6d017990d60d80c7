#pragma once
// The rows of bench as lines of a Markdown table.

#include <nlohmann/json.hpp>
#include <string>

namespace parsnets::cli {

std::string bench_table_head();
/// A line for {"method", "runs", "error"?}.
std::string bench_table_row(const nlohmann::ordered_json& method);
/// What to read below the table: the intervals of each row, and the differences of the others from the first. "" if no
/// row has intervals.
std::string bench_uncertainty(const nlohmann::ordered_json& methods);
/// The published rows for a data set; empty if there are none.
std::string reference_table_rows(const std::string& data);

}  // namespace parsnets::cli
