// Rows of data/reference.csv, which the build embeds, and of files of the user's: one reader for both.

#include "eval/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json_file.hpp"
#include "base/text.hpp"
#include "eval/metrics.hpp"
#include "eval/reference_csv.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

bool same_data_name(std::string_view a, std::string_view b) { return lower(a) == lower(b); }

nlohmann::ordered_json cited_row_json(const CitedRow& row) {
  const auto json = [](const std::optional<double>& v) {
    return v ? nlohmann::ordered_json(*v) : nlohmann::ordered_json();
  };
  return {{"method", row.method},       {"zsl", json(row.zsl)}, {"u", json(row.u)},
          {"s", json(row.s)},           {"h", json(row.h)},     {"features", row.features},
          {"semantics", row.semantics}, {"split", row.split},   {"source", row.source},
          {"measured", false},          {"own", row.own}};
}

namespace {

constexpr std::pair<const char*, std::string CitedRow::*> kTexts[] = {
    {"method", &CitedRow::method},       {"data", &CitedRow::data},   {"features", &CitedRow::features},
    {"semantics", &CitedRow::semantics}, {"split", &CitedRow::split}, {"source", &CitedRow::source}};
constexpr std::pair<const char*, std::optional<double> CitedRow::*> kAccuracies[] = {
    {"zsl", &CitedRow::zsl}, {"u", &CitedRow::u}, {"s", &CitedRow::s}, {"h", &CitedRow::h}};

constexpr double kTolerance = 0.15;  // U, S and H are each rounded to a tenth, or cut off

const std::vector<std::string> kFields{"method", "data", "features", "semantics", "split",
                                       "zsl",    "u",    "s",        "h",         "source"};

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

std::vector<Cells> csv_cells(const CsvCells& table, const std::string& file) {
  Cells head{file + ":1", {}};
  for (const auto& name : table.header) add_cell(head, name, "");
  std::vector<Cells> rows;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    rows.push_back({fmt::format("{}:{}", file, table.line(r)), {}});
    for (std::size_t c = 0; c < table.header.size(); ++c)
      add_cell(rows.back(), table.header[c], std::string(table.cell(r, c)));
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
  CitedRow row;
  for (const auto& [field, text] : kTexts) row.*text = text_of(cells, field);
  for (const auto& [field, accuracy] : kAccuracies) row.*accuracy = percent_of(cells, field);
  for (const auto& [field, value, meaning] : {std::tuple("method", &row.method, "the name of a method"),
                                              std::tuple("data", &row.data, "the name of a data set, such as CUB")})
    if (value->empty()) throw Error(BadInput{cells.place, field, meaning, "nothing", "fill it in"});
  if (row.u && row.s) {
    const double h = harmonic_mean(*row.u, *row.s);
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
    for (const auto& [field, value] : kAccuracies)
      if (about(other) == about(row) && other.*value && row.*value)
        throw Error(BadInput{place, field, fmt::format("one row of '{}' on {}", row.method, row.data), "another one",
                             "remove one, or tell them apart by features, semantics or split"});
  rows.push_back(std::move(row));
}

std::vector<CitedRow> rows_from(const std::vector<Cells>& list) {
  std::vector<CitedRow> rows;
  for (const auto& cells : list) add_row(row_from(cells), cells.place, rows);
  return rows;
}

}  // namespace

const std::vector<CitedRow>& published_rows() {
  static const std::vector<CitedRow> rows =
      rows_from(csv_cells(parse_csv(kReferenceCsv, "data/reference.csv", true), "data/reference.csv"));
  return rows;
}

std::vector<CitedRow> read_own_rows(const std::filesystem::path& file) {
  auto rows = rows_from(lower(file.extension().string()) == ".json" ? json_cells(file)
                                                                    : csv_cells(read_csv(file, true), file.string()));
  if (rows.empty())
    throw Error(BadInput{file.string(), "", "at least one row", "none", "add rows, or leave the file out"});
  for (auto& row : rows) row.own = true;
  return rows;
}

std::vector<CitedRow> cited_rows(const std::string& name, const std::string& known_as, const std::string& proposed_of,
                                 const std::vector<CitedRow>& own) {
  std::vector<CitedRow> rows;
  std::ranges::copy_if(published_rows(), std::back_inserter(rows),
                       [&](const CitedRow& row) { return same_data_name(row.data, proposed_of); });
  std::ranges::copy_if(own, std::back_inserter(rows), [&](const CitedRow& row) {
    return same_data_name(row.data, name) || same_data_name(row.data, known_as);
  });
  return rows;
}

}  // namespace parsnets
