#pragma once
// Tables of results as files, in the format that the ending of each says.

#include <string>

#include "base/options.hpp"
#include "experiments/result_table.hpp"

namespace parsnets::cli {

void add_table_files(OptionTable& options, std::string& files);
/// Throws usage for an ending that is none of .md, .csv, .tex and .json, bad_input for a file that cannot be written.
void check_table_files(const std::string& files);
void write_table_files(const ResultTable& table, const std::string& files);

}  // namespace parsnets::cli
