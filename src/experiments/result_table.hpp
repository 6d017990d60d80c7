#pragma once
// A table of results, and its text in the formats that papers and programs need.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

/// What a row's numbers come from.
enum class RowSource {
  measured,   ///< runs of this program
  own,        ///< a file of the user's, not measured here
  published,  ///< the literature, not measured here
};

/// A number with its spread over seeds.
struct ResultCell {
  std::optional<double> mean;  ///< empty: no such result
  std::optional<double> sd;    ///< empty: one value, or unknown
};

/// A column of numbers. Columns of the same group stand next to each other under its name.
struct ResultColumn {
  std::string group, name;  ///< group "": none
  int decimals = 1;
  bool ranked = true;  ///< higher is better, and the best two are marked
};

struct ResultRow {
  std::vector<std::string> heads;  ///< one per row head of the table
  std::vector<ResultCell> cells;   ///< one per column
  RowSource source = RowSource::measured;
};

struct ResultTable {
  std::string name;     ///< of its files, e.g. "zsl"
  std::string caption;  ///< says what is measured, in which unit
  std::vector<std::string> row_heads;
  std::vector<ResultColumn> columns;
  std::vector<ResultRow> rows;  ///< in the order of the table; a change of source begins a block
  std::vector<std::string> notes;
};

enum class TableFormat { markdown, csv, latex, json };
/// The ending of a file is its format.
inline constexpr std::pair<std::string_view, TableFormat> kTableFormats[] = {{".md", TableFormat::markdown},
                                                                             {".csv", TableFormat::csv},
                                                                             {".tex", TableFormat::latex},
                                                                             {".json", TableFormat::json}};
/// Throws usage for another ending, naming `option`.
TableFormat table_format_of(const std::string& file, const std::string& option);

/// Columns are marked among measured and own rows: best bold, second underlined, by the mean as it is printed; equal
/// numbers share the mark. Published rows often use other features and are not marked.
std::string to_text(const ResultTable& table, TableFormat format);
/// A document that shows LaTeX tables one after the other. It needs booktabs alone.
std::string latex_document(const std::vector<ResultTable>& tables);

nlohmann::ordered_json to_json(const ResultTable& table);
/// Reads what to_json wrote. Throws bad_input naming `file` and the field.
ResultTable result_table_from(const nlohmann::json& json, const std::string& file);

}  // namespace parsnets
