#include "table_files.hpp"

#include <sstream>
#include <vector>

#include "base/file.hpp"

namespace parsnets::cli {

namespace {

constexpr const char* kOption = "table";

std::vector<std::string> names_in(const std::string& files) {
  std::vector<std::string> names;
  std::istringstream list(files);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

void add_table_files(OptionTable& options, std::string& files) {
  options.text(kOption, files,
               "files for the table, comma-separated; the ending is the format: .md, .csv, .tex (booktabs) or .json");
}

void check_table_files(const std::string& files) {
  for (const auto& name : names_in(files)) {
    table_format_of(name, kOption);
    check_writable(name);
  }
}

void write_table_files(const ResultTable& table, const std::string& files) {
  for (const auto& name : names_in(files)) {
    make_folder_of(name);
    write_text_file(name, to_text(table, table_format_of(name, kOption)));
  }
}

}  // namespace parsnets::cli
