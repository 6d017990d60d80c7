#include "eval/own_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/did_you_mean.hpp"
#include "base/json_file.hpp"
#include "formats/csv.hpp"
#include "formats/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr double kTolerance = 0.15;  // U, S and H are each rounded to a tenth, or cut off

const std::vector<std::string> kFields{"method", "data", "features", "semantics", "split",
                                       "zsl",    "u",    "s",        "h",         "source"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

/// A row as it was written, and where.
struct Cells {
  std::string place;                         ///< file:line, or the file and the number of the object
  std::map<std::string, std::string> cells;  ///< by field, in lower case
};

void add_cell(Cells& row, const std::string& name, std::string cell) {
  const std::string field = lower(trimmed(name));
  if (std::ranges::find(kFields, field) == kFields.end())
    throw Error(BadInput{row.place, "", fmt::format("the fields {}", fmt::join(kFields, ", ")),
                         in_quotes(name) + did_you_mean(field, kFields), "rename or remove the field"});
  if (!row.cells.emplace(field, std::move(cell)).second)
    throw Error(BadInput{row.place, field, "a field once", "it twice", "remove one"});
}

std::vector<Cells> csv_cells(const std::filesystem::path& file) {
  const CsvTable table = read_csv(file, true);
  Cells head{file.string() + ":1", {}};
  for (const auto& name : table.header) add_cell(head, name, "");
  std::vector<Cells> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    rows.push_back({fmt::format("{}:{}", file.string(), table.lines[r]), {}});
    for (std::size_t c = 0; c < table.header.size(); ++c) add_cell(rows.back(), table.header[c], table.rows[r][c]);
  }
  return rows;
}

std::vector<Cells> json_cells(const std::filesystem::path& file) {
  const nlohmann::json list = read_json_file(file);
  if (!list.is_array())
    throw Error(BadInput{file.string(), "", "an array of objects", list.type_name(), "write [{...}, {...}]"});
  std::vector<Cells> rows;
  for (const auto& object : list) {
    rows.push_back({fmt::format("{}: row {}", file.string(), rows.size() + 1), {}});
    if (!object.is_object())
      throw Error(BadInput{rows.back().place, "", "an object", object.type_name(), "write [{...}, {...}]"});
    for (const auto& [name, value] : object.items()) {
      if (value.is_structured() || value.is_boolean())
        throw Error(BadInput{rows.back().place, name, "a text or a number", value.type_name(), "correct the value"});
      add_cell(rows.back(), name, value.is_null() ? "" : (value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  return rows;
}

std::string text_of(const Cells& row, const char* field) {
  const auto found = row.cells.find(field);
  return found == row.cells.end() ? "" : trimmed(found->second);
}

std::optional<double> percent_of(const Cells& row, const char* field) {
  const std::string text = text_of(row, field);
  double value = 0;
  if (!parse_number(text, value) || value < 0 || value > 100)
    throw Error(BadInput{row.place, field, "an accuracy in percent, 0 to 100, or nothing", in_quotes(text),
                         "correct the value"});
  return std::isnan(value) ? std::optional<double>() : std::optional<double>(value);
}

CitedRow row_from(const Cells& cells) {
  CitedRow row{text_of(cells, "data"),
               text_of(cells, "method"),
               text_of(cells, "features"),
               text_of(cells, "semantics"),
               text_of(cells, "split"),
               text_of(cells, "source"),
               percent_of(cells, "zsl"),
               percent_of(cells, "u"),
               percent_of(cells, "s"),
               percent_of(cells, "h"),
               true};
  for (const auto& [field, value, meaning] : {std::tuple("method", &row.method, "the name of a method"),
                                              std::tuple("data", &row.data, "the name of a data set, such as CUB")})
    if (value->empty()) throw Error(BadInput{cells.place, field, meaning, "nothing", "fill it in"});
  if (row.u && row.s) {
    const double h = *row.u + *row.s > 0 ? 2 * *row.u * *row.s / (*row.u + *row.s) : 0;
    if (row.h && std::abs(*row.h - h) > kTolerance)
      throw Error(BadInput{cells.place, "h", fmt::format("the harmonic mean of U and S, {:.2f}", h),
                           fmt::format("{}", *row.h), "correct U, S or H, or leave H out"});
    if (!row.h) row.h = h;
  }
  if (!row.zsl && !row.u && !row.s && !row.h)
    throw Error(BadInput{cells.place, "", "at least one of ZSL, U, S, H", "none", "fill it in or remove the row"});
  return row;
}

/// A result that two rows give is a mistake in one of them.
void add_row(CitedRow row, const std::string& place, std::vector<CitedRow>& rows) {
  const auto about = [](const CitedRow& one) {
    return std::tie(one.data, one.method, one.features, one.semantics, one.split);
  };
  for (const auto& other : rows)
    for (const auto& [field, value] : {std::pair("zsl", &CitedRow::zsl), std::pair("u", &CitedRow::u),
                                       std::pair("s", &CitedRow::s), std::pair("h", &CitedRow::h)})
      if (about(other) == about(row) && other.*value && row.*value)
        throw Error(BadInput{place, field, fmt::format("one row of '{}' on {}", row.method, row.data), "another one",
                             "remove one, or tell them apart by features, semantics or split"});
  rows.push_back(std::move(row));
}

}  // namespace

std::vector<CitedRow> read_own_rows(const std::filesystem::path& file) {
  std::vector<CitedRow> rows;
  for (const auto& cells : lower(file.extension().string()) == ".json" ? json_cells(file) : csv_cells(file))
    add_row(row_from(cells), cells.place, rows);
  if (rows.empty())
    throw Error(BadInput{file.string(), "", "at least one row", "none", "add rows, or leave the file out"});
  return rows;
}

std::vector<CitedRow> cited_rows(const CitedData& data, const std::vector<CitedRow>& own) {
  std::vector<CitedRow> rows = published_rows(data.proposed_of);
  std::ranges::copy_if(own, std::back_inserter(rows), [&](const CitedRow& row) {
    return same_data_name(row.data, data.name) || same_data_name(row.data, data.known_as);
  });
  return rows;
}

}  // namespace parsnets
