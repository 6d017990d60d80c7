#pragma once
// The rows of bench as lines of a Markdown table.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "eval/reference.hpp"
#include "experiments/result_table.hpp"

namespace parsnets::cli {

std::string bench_table_head();
/// A line for {"method", "runs", "error"?}.
std::string bench_table_row(const nlohmann::ordered_json& method);
/// A line for each row that was not measured here.
std::string cited_table_rows(const std::vector<CitedRow>& rows);
/// What to read below the table: the intervals of each row, and the differences of the others from the first. "" if no
/// row has intervals.
std::string bench_uncertainty(const nlohmann::ordered_json& methods);

// Tables of results as files, in the format that the ending of each says.

void add_table_files(OptionTable& options, std::string& files);
/// Throws usage for an ending that is none of .md, .csv, .tex and .json, bad_input for a file that cannot be written.
void check_table_files(const std::string& files);
void write_table_files(const ResultTable& table, const std::string& files);

}  // namespace parsnets::cli
