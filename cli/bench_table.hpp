#pragma once
// The rows of bench as lines of a Markdown table.

#include <nlohmann/json.hpp>
#include <string>

namespace parsnets::cli {

std::string bench_table_head();
/// A line for {"method", "runs", "error"?}.
std::string bench_table_row(const nlohmann::ordered_json& method);
/// The published rows for a data set; empty if there are none.
std::string reference_table_rows(const std::string& data);

}  // namespace parsnets::cli
