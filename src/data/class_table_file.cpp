#include "data/class_table_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "data/folder.hpp"
#include "data/folder_files.hpp"
#include "data/semantics.hpp"
#include "data/word_table.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

constexpr Endings kTableEndings{".csv", ".npy", ".txt", ".vec"};

/// Rows and columns of a table with a column of class names.
class NamedTable {
 public:
  explicit NamedTable(const fs::path& file) : file_(file.string()), table_(read_csv(file, true)) {
    const auto found = std::find(table_.header.begin(), table_.header.end(), "class");
    if (found == table_.header.end())
      throw Error(BadInput{file_, "header", "a column 'class'", quoted_list(table_.header),
                           table_.header.size() == 1 && table_.header[0].find(';') != std::string::npos
                               ? "separate cells by commas, not by semicolons"
                               : "the first line names the columns: class, then the attributes"});
    if (table_.header.size() < 2) throw Error(BadInput{file_, "header", "at least one attribute", "none", ""});
    if (table_.rows.empty()) throw Error(BadInput{file_, "", "one row per class", "no rows", ""});
    class_column_ = static_cast<std::size_t>(found - table_.header.begin());
  }

  std::vector<std::string> class_names() const {
    std::vector<std::string> names;
    std::unordered_set<std::string_view> known;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      const std::string& name = table_.rows[r][class_column_];
      if (name.empty()) throw Error(BadInput{place(r), "class", "a class name", "an empty cell", ""});
      if (!known.insert(name).second)
        throw Error(
            BadInput{place(r), "class", "each class only once", "'" + name + "' twice", "keep one row per class"});
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
          throw Error(BadInput{place(r),
                               fmt::format("class '{}', attribute '{}'", out.class_names[r], table_.header[c]),
                               "a number or an empty cell", "'" + table_.rows[r][c] + "'", ""});
      }
    mark_missing(raw.view());
    out.semantics = complete_semantics(raw.view(), missing, file_, "attributes", out.class_names, attribute_names);
    out.semantics.name = name;
    return out;
  }

 private:
  std::string place(std::size_t r) const { return fmt::format("{}:{}", file_, table_.lines[r]); }

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

}  // namespace

std::vector<std::string> table_class_names(const fs::path& csv) { return NamedTable(csv).class_names(); }

ClassTable read_class_table(const fs::path& file, const std::string& name, MissingPolicy missing, Dataset& data,
                            ProgressObserver* progress) {
  if (file.extension() == ".csv") return NamedTable(file).read(name, missing);
  if (file.extension() == ".npy") return read_numbers(file, name, missing, data.class_names);
  ClassTable words{file.string(), {}, read_word_table(file, data.class_names, data.notes, progress)};
  words.semantics.name = name;
  words.semantics.policy = missing;
  return words;
}

bool is_table_file(const fs::path& file) {
  return std::ranges::find(kTableEndings, file.extension().string()) != kTableEndings.end();
}

std::optional<fs::path> find_table_file(const fs::path& folder, const std::string& item) {
  return is_table_file(item) ? find_named(folder, item, kTableEndings) : std::nullopt;
}

std::string table_name(const fs::path& file, std::size_t tables) {
  return (tables == 1 ? file.filename() : file.stem()).string();
}

}  // namespace parsnets
