#include "data/plain_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "data/folder.hpp"
#include "data/folder_files.hpp"
#include "data/semantic_tables.hpp"
#include "data/semantics.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

const std::string kAttributes = "attributes";

/// Rows and columns of a table with a column of class names.
class NamedTable {
 public:
  explicit NamedTable(const fs::path& file) : file_(file.string()), table_(read_csv(file, true)) {
    const auto found = std::find(table_.header.begin(), table_.header.end(), "class");
    if (found == table_.header.end())
      throw Error(BadInput{file_, "header", "a column 'class'", quoted_list(table_.header),
                           "the first line names the columns: class, then the attributes"});
    if (table_.header.size() < 2) throw Error(BadInput{file_, "header", "at least one attribute", "none", ""});
    if (table_.rows.empty()) throw Error(BadInput{file_, "", "one row per class", "no rows", ""});
    class_column_ = static_cast<std::size_t>(found - table_.header.begin());
  }

  std::vector<std::string> class_names() const {
    std::vector<std::string> names;
    std::unordered_set<std::string_view> known;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      const std::string& name = table_.rows[r][class_column_];
      if (name.empty()) throw Error(BadInput{row_name(r), "class", "a class name", "an empty cell", ""});
      if (!known.insert(name).second)
        throw Error(
            BadInput{row_name(r), "class", "each class only once", "'" + name + "' twice", "keep one row per class"});
      names.push_back(name);
    }
    return names;
  }

  ClassTable read(const std::string& name, MissingPolicy missing) const {
    ClassTable out{file_, class_names(), {}};
    std::vector<std::string> attribute_names;
    for (std::size_t c = 0; c < table_.header.size(); ++c)
      if (c != class_column_) attribute_names.push_back(table_.header[c]);
    Matrix<double> raw(table_.rows.size(), attribute_names.size());
    for (std::size_t r = 0; r < table_.rows.size(); ++r)
      for (std::size_t c = 0, a = 0; c < table_.header.size(); ++c) {
        if (c == class_column_) continue;
        if (!parse_number(table_.rows[r][c], raw(r, a++)))
          throw Error(BadInput{row_name(r),
                               fmt::format("class '{}', attribute '{}'", out.class_names[r], table_.header[c]),
                               "a number or an empty cell", "'" + table_.rows[r][c] + "'", ""});
      }
    mark_missing(raw.view());
    out.semantics = complete_semantics(raw.view(), missing, file_, kAttributes, out.class_names, attribute_names);
    out.semantics.name = name;
    return out;
  }

 private:
  std::string row_name(std::size_t r) const { return fmt::format("{}, row {}", file_, r + 1); }

  std::string file_;
  CsvTable table_;
  std::size_t class_column_ = 0;
};

/// An .npy table names neither classes nor attributes.
ClassTable read_numbers(const fs::path& file, const std::string& name, MissingPolicy missing,
                        const std::vector<std::string>& class_names) {
  Matrix<double> raw = read_npy_double({file, ""});
  if (raw.rows() != class_names.size() || raw.cols() == 0)
    throw Error(BadInput{file.string(), "", fmt::format("{} rows, one per class", class_names.size()),
                         fmt::format("{} x {} values", raw.rows(), raw.cols()), "one row per class, in their order"});
  mark_missing(raw.view());
  ClassTable out{file.string(), {}, complete_semantics(raw.view(), missing, file.string(), name, class_names, {})};
  out.semantics.name = name;
  return out;
}

bool has_table_ending(const fs::path& name) { return name.extension() == ".csv" || name.extension() == ".npy"; }

/// Of table `name`, which may have an ending. "att" is how folders of .mat files call attributes.csv.
fs::path table_file(const fs::path& folder, const std::string& name) {
  if (has_table_ending(name) && fs::exists(folder / name)) return folder / name;
  if (const auto found = find_one(folder, name, {".csv", ".npy"})) return *found;
  if (name == "att" && fs::exists(folder / "attributes.csv")) return folder / "attributes.csv";
  if (name == kAttributes || name == "attributes.csv" || name == "att")
    throw Error(BadInput{folder.string(), "attributes.csv", "a table of class attributes", "none",
                         "write one: a header 'class,<attributes>' and a row per class"});
  std::vector<std::string> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    if (has_table_ending(entry.path()) && stem != "features" && stem != "labels" && stem != "image_files")
      others.push_back(entry.path().filename().string());
  }
  std::ranges::sort(others);
  throw Error(BadInput{folder.string(), "semantics '" + name + "'", fmt::format("a file {0}.csv or {0}.npy", name),
                       "only " + quoted_list(others), "set " + option_name("semantics") + " to one of them"});
}

CsvTable as_csv(const Semantics& table, const std::vector<std::string>& class_names) {
  CsvTable csv;
  csv.header.push_back("class");
  for (std::size_t a = 0; a < table.values.cols(); ++a)
    csv.header.push_back(table.attribute_names.empty() ? fmt::format("a{}", a + 1) : table.attribute_names[a]);
  for (std::size_t c = 0; c < class_names.size(); ++c) {
    std::vector<std::string> row{class_names[c]};
    for (const float v : table.values.row(c)) row.push_back(format_number(v));
    csv.rows.push_back(std::move(row));
  }
  return csv;
}

}  // namespace

void read_plain_tables(const fs::path& folder, const LoadOptions& options, Dataset& data) {
  const auto names = split_table_names(options.semantics.empty() ? kAttributes : options.semantics);
  std::vector<fs::path> files;
  for (const auto& name : names) {
    files.push_back(table_file(folder, name));
    if (std::ranges::count(files, files.back()) > 1)
      throw Error(ErrorCode::usage, fmt::format("{}: expected different tables, found {} twice",
                                                option_name("semantics"), files.back().filename().string()));
  }
  fs::path from = folder / "attributes.csv";
  for (const auto& file : files)
    if (!fs::exists(from) && file.extension() == ".csv") from = file;
  if (!fs::exists(from))
    throw Error(BadInput{folder.string(), "semantics '" + options.semantics + "'", "a table that names the classes",
                         "only .npy files", "add attributes.csv: a header 'class,<attributes>' and a row per class"});
  data.class_names = NamedTable(from).class_names();
  std::vector<ClassTable> tables;
  for (std::size_t t = 0; t < names.size(); ++t) {
    const std::string name = names.size() == 1            ? files[t].filename().string()
                             : has_table_ending(names[t]) ? fs::path(names[t]).stem().string()
                                                          : names[t];
    tables.push_back(files[t].extension() == ".csv" ? NamedTable(files[t]).read(name, options.missing)
                                                    : read_numbers(files[t], name, options.missing, data.class_names));
  }
  data.semantics = join_tables(std::move(tables), data.class_names, from.string());
}

void write_plain_tables(const Dataset& data, const fs::path& folder) {
  for (std::size_t t = 0; t < std::max<std::size_t>(1, data.semantics.tables.size()); ++t) {
    const Semantics table = table_of(data.semantics, t);
    const bool usual = data.semantics.tables.empty() || table.name == "att";
    write_csv(folder / ((usual ? kAttributes : table.name) + ".csv"), as_csv(table, data.class_names));
  }
}

}  // namespace parsnets
