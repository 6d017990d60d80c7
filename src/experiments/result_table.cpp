#include "experiments/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "parsnets/error.hpp"

namespace parsnets {

using Json = nlohmann::ordered_json;

namespace {

enum class Mark { none, best, second };

std::string number(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

bool competes(const ResultRow& row) { return row.source != RowSource::published; }

Mark mark_of(const ResultTable& table, const ResultRow& row, std::size_t c) {
  const ResultColumn& column = table.columns[c];
  if (!column.ranked || !competes(row) || !row.cells[c].mean) return Mark::none;
  const auto printed = [&](const ResultRow& r) { return std::stod(number(*r.cells[c].mean, column.decimals)); };
  std::set<double, std::greater<>> values;
  std::size_t rows = 0;
  for (const auto& other : table.rows)
    if (competes(other) && other.cells[c].mean) {
      values.insert(printed(other));
      ++rows;
    }
  const double own = printed(row);
  if (rows < 2) return Mark::none;
  if (own == *values.begin()) return Mark::best;
  return own == *std::next(values.begin()) ? Mark::second : Mark::none;
}

std::string title(const ResultColumn& column) {
  return column.group.empty() ? column.name : column.name.empty() ? column.group : column.group + " " + column.name;
}

const char* source_name(RowSource source) {
  return source == RowSource::measured ? "measured" : source == RowSource::own ? "own" : "published";
}

const char* block_name(RowSource source) {
  return source == RowSource::measured ? "Measured here"
         : source == RowSource::own    ? "Own rows, not measured here"
                                       : "Published, not measured here";
}

/// Text that stays in its cell.
std::string markdown_cell(std::string text) {
  for (char& c : text)
    if (c == '|' || c == '\n') c = c == '|' ? '/' : ' ';
  return text;
}

std::string markdown(const ResultTable& table) {
  std::string text = table.caption.empty() ? "" : table.caption + "\n\n", line = "|";
  for (const auto& head : table.row_heads) text += fmt::format("| {} ", markdown_cell(head)), line += "---|";
  for (const auto& column : table.columns) text += fmt::format("| {} ", markdown_cell(title(column))), line += "---:|";
  text += "|\n" + line + "\n";
  for (const auto& row : table.rows) {
    for (std::size_t h = 0; h < row.heads.size(); ++h) {
      text += "| " + markdown_cell(row.heads[h]);
      if (h == 0 && row.source == RowSource::own) text += " (own row, not measured here)";
      if (h == 0 && row.source == RowSource::published) text += " (published)";
      text += " ";
    }
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const auto& [mean, sd] = row.cells[c];
      const int decimals = table.columns[c].decimals;
      std::string cell = mean ? number(*mean, decimals) : "-";
      if (mean && sd) cell += " ± " + number(*sd, decimals);
      const Mark mark = mark_of(table, row, c);
      text += "| " +
              (mark == Mark::best     ? "**" + cell + "**"
               : mark == Mark::second ? "<ins>" + cell + "</ins>"
                                      : cell) +
              " ";
    }
    text += "|\n";
  }
  for (const auto& note : table.notes) text += "\n" + note + "\n";
  return text;
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv(const ResultTable& table) {
  std::string text;
  for (const auto& head : table.row_heads) text += csv_text(head) + ",";
  text += "source";
  for (const auto& column : table.columns)
    text += "," + csv_text(title(column)) + "," + csv_text(title(column) + " sd");
  text += "\n";
  for (const auto& row : table.rows) {
    for (const auto& head : row.heads) text += csv_text(head) + ",";
    text += source_name(row.source);
    for (const auto& cell : row.cells)
      for (const auto& value : {cell.mean, cell.sd}) text += value ? fmt::format(",{:.6g}", *value) : ",";
    text += "\n";
  }
  return text;
}

std::string latex_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) switch (c) {
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}': escaped += std::string("\\") + c; break;
      case '~': escaped += "\\textasciitilde{}"; break;
      case '^': escaped += "\\textasciicircum{}"; break;
      case '\\': escaped += "\\textbackslash{}"; break;
      case '<': escaped += "\\textless{}"; break;
      case '>': escaped += "\\textgreater{}"; break;
      case '|': escaped += "\\textbar{}"; break;
      default: escaped += c;
    }
  return escaped;
}

/// The end of the row before takes a following [ or * as its argument.
std::string row_start(const std::string& head) { return head.starts_with('[') || head.starts_with('*') ? "{}" : ""; }

/// The columns from `first` on that share its group.
std::size_t group_end(const ResultTable& table, std::size_t first) {
  std::size_t end = first + 1;
  while (end < table.columns.size() && table.columns[end].group == table.columns[first].group) ++end;
  return end;
}

std::string latex_head(const ResultTable& table) {
  const std::size_t heads = table.row_heads.size();
  std::string groups, rules, names;
  bool grouped = false;
  for (std::size_t h = 0; h < heads; ++h) {
    names += (h == 0 ? "" : " & ") + latex_text(table.row_heads[h]);
    if (h > 0) groups += " &";
  }
  for (std::size_t c = 0; c < table.columns.size();) {
    const std::size_t end = group_end(table, c);
    const std::string& group = table.columns[c].group;
    groups += fmt::format(" & \\multicolumn{{{}}}{{c}}{{{}}}", end - c, latex_text(group));
    if (!group.empty()) rules += fmt::format("\\cmidrule(lr){{{}-{}}}", heads + c + 1, heads + end);
    grouped = grouped || !group.empty();
    for (; c < end; ++c) names += " & " + latex_text(table.columns[c].name);
  }
  const bool named = std::ranges::any_of(table.columns, [](const auto& column) { return !column.name.empty(); });
  std::string text = grouped ? groups + " \\\\\n" : "";
  if (grouped && named) text += rules + "\n";
  // Groups of one unnamed column: their names are the heads of the columns.
  if (grouped && !named) {
    text.clear();
    for (std::size_t h = 0; h < heads; ++h) text += (h == 0 ? "" : " & ") + latex_text(table.row_heads[h]);
    for (const auto& column : table.columns) text += " & " + latex_text(column.group);
    return text + " \\\\\n";
  }
  return text + names + " \\\\\n";
}

std::string latex(const ResultTable& table) {
  const std::size_t columns = table.row_heads.size() + table.columns.size();
  // Shrunk to the width of the text only where it is wider.
  std::string text = fmt::format(
      "\\begin{{table}}[htbp]\n\\centering\n\\setlength{{\\belowcaptionskip}}{{6pt}}\n\\caption{{{}}}\n\\label{{tab:{}}"
      "}\n"
      "\\resizebox{{\\ifdim\\width>\\textwidth\\textwidth\\else\\width\\fi}}{{!}}{{%\n",
      latex_text(table.caption), latex_text(table.name));
  text += fmt::format("\\begin{{tabular}}{{{}{}}}\n\\toprule\n", std::string(table.row_heads.size(), 'l'),
                      std::string(table.columns.size(), 'r'));
  text += latex_head(table);
  const bool blocks = std::ranges::any_of(table.rows, [](const auto& r) { return r.source != RowSource::measured; });
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const ResultRow& row = table.rows[r];
    if (r == 0 || row.source != table.rows[r - 1].source) {
      text += "\\midrule\n";
      if (blocks)
        text += fmt::format("\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n", columns, block_name(row.source));
    }
    for (std::size_t h = 0; h < row.heads.size(); ++h)
      text += (h == 0 ? row_start(row.heads[0]) : " & ") + latex_text(row.heads[h]);
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const auto& [mean, sd] = row.cells[c];
      const int decimals = table.columns[c].decimals;
      std::string cell = mean ? number(*mean, decimals) : "--";
      const Mark mark = mark_of(table, row, c);
      if (mark != Mark::none) cell = (mark == Mark::best ? "\\textbf{" : "\\underline{") + cell + "}";
      if (mean && sd) cell += "\\,{\\scriptsize$\\pm$\\,}" + number(*sd, decimals);
      text += " & " + cell;
    }
    text += " \\\\\n";
  }
  text += "\\bottomrule\n\\end{tabular}%\n}\n";
  for (const auto& note : table.notes) text += "\n\\smallskip\n{\\footnotesize " + latex_text(note) + "\\par}\n";
  return text + "\\end{table}\n";
}

}  // namespace

TableFormat table_format_of(const std::string& file, const std::string& option) {
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending == ".md") return TableFormat::markdown;
  if (ending == ".csv") return TableFormat::csv;
  if (ending == ".tex") return TableFormat::latex;
  if (ending == ".json") return TableFormat::json;
  throw Error(ErrorCode::usage, fmt::format("{}: expected a file ending in .md, .csv, .tex or .json, found '{}'",
                                            option_name(option), file));
}

std::string to_text(const ResultTable& table, TableFormat format) {
  switch (format) {
    case TableFormat::markdown: return markdown(table);
    case TableFormat::csv: return csv(table);
    case TableFormat::latex: return latex(table);
    case TableFormat::json: break;
  }
  return to_json(table).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string latex_document(const std::vector<ResultTable>& tables) {
  const bool wide = std::ranges::any_of(tables, [](const auto& table) { return table.columns.size() > 8; });
  // Without booktabs, plain rules stand in for its own.
  std::string text = wide ? "\\documentclass[landscape]{article}\n" : "\\documentclass{article}\n";
  text +=
      "\\usepackage[margin=2cm]{geometry}\n\\usepackage{graphicx}\n"
      "\\IfFileExists{booktabs.sty}{\\usepackage{booktabs}}{%\n"
      "  \\newcommand{\\toprule}{\\hline}\\newcommand{\\midrule}{\\hline}\\newcommand{\\bottomrule}{\\hline}%\n"
      "  \\def\\cmidrule(##1)##2{\\cline{##2}}}\n"
      "\\begin{document}\n";
  for (const auto& table : tables) text += latex(table) + "\n";
  return text + "\\end{document}\n";
}

Json to_json(const ResultTable& table) {
  Json json{{"name", table.name}, {"caption", table.caption}, {"row_heads", table.row_heads}};
  json["columns"] = json["rows"] = Json::array();
  for (const auto& column : table.columns)
    json["columns"].push_back(
        {{"group", column.group}, {"name", column.name}, {"decimals", column.decimals}, {"ranked", column.ranked}});
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    const auto value = [](const std::optional<double>& v) { return v ? Json(*v) : Json(); };
    for (const auto& cell : row.cells) cells.push_back({{"mean", value(cell.mean)}, {"sd", value(cell.sd)}});
    json["rows"].push_back({{"heads", row.heads}, {"source", source_name(row.source)}, {"cells", std::move(cells)}});
  }
  json["notes"] = table.notes;
  return json;
}

ResultTable result_table_from(const nlohmann::json& json, const std::string& file) {
  ResultTable table;
  try {
    table.name = json.at("name").get<std::string>();
    table.caption = json.at("caption").get<std::string>();
    table.row_heads = json.at("row_heads").get<std::vector<std::string>>();
    for (const auto& column : json.at("columns"))
      table.columns.push_back({column.at("group").get<std::string>(), column.at("name").get<std::string>(),
                               std::clamp(column.at("decimals").get<int>(), 0, 10), column.at("ranked").get<bool>()});
    for (const auto& row : json.at("rows")) {
      const auto source = row.at("source").get<std::string>();
      ResultRow read{row.at("heads").get<std::vector<std::string>>(),
                     {},
                     source == "own"         ? RowSource::own
                     : source == "published" ? RowSource::published
                                             : RowSource::measured};
      const auto value = [](const nlohmann::json& v) {
        return v.is_null() ? std::nullopt : std::optional(v.get<double>());
      };
      for (const auto& cell : row.at("cells")) read.cells.push_back({value(cell.at("mean")), value(cell.at("sd"))});
      if (read.heads.size() != table.row_heads.size() || read.cells.size() != table.columns.size())
        throw Error(BadInput{file, fmt::format("row {}", table.rows.size()),
                             fmt::format("{} heads and {} cells", table.row_heads.size(), table.columns.size()),
                             fmt::format("{} and {}", read.heads.size(), read.cells.size()), "write the table again"});
      table.rows.push_back(std::move(read));
    }
    table.notes = json.at("notes").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(BadInput{file, "", "a table of results", error.what(), "write the table again"});
  }
  return table;
}

}  // namespace parsnets
