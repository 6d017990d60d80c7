#include "experiments/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "base/text.hpp"
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

/// The name of a source in files, and the heading of its block of rows; by RowSource.
constexpr std::pair<const char*, const char*> kSources[] = {{"measured", "Measured here"},
                                                            {"own", "Own rows, not measured here"},
                                                            {"published", "Published, not measured here"}};

const auto& names_of(RowSource source) { return kSources[static_cast<std::size_t>(source)]; }

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

std::string csv(const ResultTable& table) {
  std::string text;
  for (const auto& head : table.row_heads) text += csv_cell(head) + ",";
  text += "source";
  for (const auto& column : table.columns)
    text += "," + csv_cell(title(column)) + "," + csv_cell(title(column) + " sd");
  text += "\n";
  for (const auto& row : table.rows) {
    for (const auto& head : row.heads) text += csv_cell(head) + ",";
    text += names_of(row.source).first;
    for (const auto& cell : row.cells)
      for (const auto& value : {cell.mean, cell.sd}) text += value ? fmt::format(",{:.6g}", *value) : ",";
    text += "\n";
  }
  return text;
}

std::string latex_text(const std::string& text) {
  static const std::map<char, std::string> names{{'~', "asciitilde"}, {'^', "asciicircum"}, {'\\', "backslash"},
                                                 {'<', "less"},       {'>', "greater"},     {'|', "bar"}};
  std::string escaped;
  for (const char c : text) {
    if (const auto name = names.find(c); name != names.end()) {
      escaped += "\\text" + name->second + "{}";
      continue;
    }
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// The end of the row before takes a following [ or * as its argument.
std::string row_start(const std::string& head) { return head.starts_with('[') || head.starts_with('*') ? "{}" : ""; }

std::string latex_head(const ResultTable& table) {
  const std::size_t heads = table.row_heads.size(), columns = table.columns.size();
  const auto any = [&](std::string ResultColumn::*text) {
    return std::ranges::any_of(table.columns, [&](const auto& column) { return !(column.*text).empty(); });
  };
  const bool grouped = any(&ResultColumn::group), named = any(&ResultColumn::name);
  std::string names;
  for (std::size_t h = 0; h < heads; ++h) names += (h == 0 ? "" : " & ") + latex_text(table.row_heads[h]);
  // Groups of one unnamed column: their names are the heads of the columns.
  for (const auto& column : table.columns) names += " & " + latex_text(grouped && !named ? column.group : column.name);
  names += " \\\\\n";
  if (!grouped || !named) return names;
  std::string groups, rules;
  for (std::size_t h = 1; h < heads; ++h) groups += " &";
  for (std::size_t c = 0, end = 0; c < columns; c = end) {
    const std::string& group = table.columns[c].group;
    while (end < columns && table.columns[end].group == group) ++end;
    groups += fmt::format(" & \\multicolumn{{{}}}{{c}}{{{}}}", end - c, latex_text(group));
    if (!group.empty()) rules += fmt::format("\\cmidrule(lr){{{}-{}}}", heads + c + 1, heads + end);
  }
  return groups + " \\\\\n" + rules + "\n" + names;
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
        text += fmt::format("\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n", columns, names_of(row.source).second);
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
  const auto found = std::ranges::find(kTableFormats, ending, [](const auto& format) { return format.first; });
  if (found != std::end(kTableFormats)) return found->second;
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
    json["rows"].push_back({{"heads", row.heads}, {"source", names_of(row.source).first}, {"cells", std::move(cells)}});
  }
  json["notes"] = table.notes;
  return json;
}

ResultTable result_table_from(const nlohmann::json& json, const std::string& file) {
  ResultTable table;
  try {
    json.at("name").get_to(table.name);
    json.at("caption").get_to(table.caption);
    json.at("row_heads").get_to(table.row_heads);
    for (const auto& column : json.at("columns"))
      table.columns.push_back({column.at("group").get<std::string>(), column.at("name").get<std::string>(),
                               std::clamp(column.at("decimals").get<int>(), 0, 10), column.at("ranked").get<bool>()});
    for (const auto& row : json.at("rows")) {
      const auto source = row.at("source").get<std::string>();
      ResultRow read{row.at("heads").get<std::vector<std::string>>(), {}, RowSource::measured};
      for (const RowSource other : {RowSource::own, RowSource::published})
        if (source == names_of(other).first) read.source = other;
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
    json.at("notes").get_to(table.notes);
  } catch (const nlohmann::json::exception& error) {
    throw Error(BadInput{file, "", "a table of results", error.what(), "write the table again"});
  }
  return table;
}

}  // namespace parsnets
