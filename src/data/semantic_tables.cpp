#include "data/semantic_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// The row of `table` for each class.
std::vector<std::size_t> rows_of(const ClassTable& table, const std::vector<std::string>& class_names,
                                 const std::string& from) {
  const auto refuse = [&](const std::string& found) {
    throw Error(BadInput{table.file, "classes", fmt::format("the {} classes of {}", class_names.size(), from), found,
                         "all tables of semantics must describe the same classes"});
  };
  const std::size_t count = table.semantics.values.rows();
  if (count != class_names.size()) refuse(std::to_string(count));
  std::vector<std::size_t> rows(count);
  const bool in_order = table.class_names.empty() || table.class_names == class_names;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t r = 0; r < count && !in_order; ++r)
    if (!places.emplace(table.class_names[r], r).second) refuse("'" + table.class_names[r] + "' twice");
  for (std::size_t c = 0; c < count; ++c) {
    const auto found = places.find(class_names[c]);
    if (!in_order && found == places.end()) refuse("none named '" + class_names[c] + "'");
    rows[c] = in_order ? c : found->second;
  }
  return rows;
}

std::vector<std::string> column_names(const std::vector<ClassTable>& tables) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> last, shared;  // the last table that has a name; names that two tables have
  if (std::ranges::all_of(tables, [](const ClassTable& t) { return t.semantics.attribute_names.empty(); }))
    return names;
  std::vector<std::vector<std::string>> own;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    own.push_back(tables[t].semantics.attribute_names);
    for (std::size_t j = own[t].size(); j < tables[t].semantics.values.cols(); ++j)
      own[t].push_back(fmt::format("{} {}", tables[t].semantics.name, j + 1));
    for (const auto& name : own[t])
      if (const auto [found, is_new] = last.emplace(name, t); !is_new && found->second != t) shared[name] = t;
  }
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (const auto& name : own[t])
      names.push_back(shared.contains(name) ? tables[t].semantics.name + ":" + name : name);
  return names;
}

}  // namespace

std::vector<std::string> split_table_names(const std::string& semantics) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= semantics.size();) {
    const std::size_t end = std::min(semantics.find(',', start), semantics.size());
    names.push_back(semantics.substr(start, end - start));
    start = end + 1;
  }
  for (const auto& name : names)
    if (names.size() > 1 && (name.empty() || std::ranges::count(names, name) > 1))
      throw Error(ErrorCode::usage, fmt::format("{}: expected different names separated by commas, found '{}'",
                                                option_name("semantics"), semantics));
  return names;
}

Semantics join_tables(std::vector<ClassTable> tables, const std::vector<std::string>& class_names,
                      const std::string& from) {
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (std::size_t other = 0; other < t; ++other)
      if (tables[t].semantics.name == tables[other].semantics.name)
        throw Error(ErrorCode::usage, fmt::format("{}: expected tables of different names, found {} and {}",
                                                  option_name("semantics"), tables[other].file, tables[t].file));
  Semantics joined;
  joined.policy = tables.front().semantics.policy;
  joined.attribute_names = column_names(tables);
  std::size_t columns = 0, first = 0;
  for (const auto& table : tables) columns += table.semantics.values.cols();
  joined.values = Matrix<float>(class_names.size(), columns);
  for (const auto& table : tables) {
    const auto& values = table.semantics.values;
    const auto rows = rows_of(table, class_names, from);
    for (std::size_t c = 0; c < rows.size(); ++c)
      std::ranges::copy(values.row(rows[c]), joined.values.row(c).begin() + static_cast<std::ptrdiff_t>(first));
    first += values.cols();
    joined.name += (joined.name.empty() ? "" : ",") + table.semantics.name;
    joined.missing += table.semantics.missing;
    if (tables.size() > 1) joined.tables.push_back({table.semantics.name, values.cols()});
  }
  return joined;
}

Semantics table_of(const Semantics& semantics, std::size_t t) {
  Semantics table;
  const bool one = semantics.tables.empty();
  std::size_t first = 0;
  for (std::size_t i = 0; i < t; ++i) first += semantics.tables[i].columns;
  const std::size_t columns = one ? semantics.values.cols() : semantics.tables[t].columns;
  table.name = one ? semantics.name : semantics.tables[t].name;
  table.policy = semantics.policy;
  table.values = Matrix<float>(semantics.values.rows(), columns);
  for (std::size_t c = 0; c < table.values.rows(); ++c)
    std::ranges::copy(semantics.values.row(c).subspan(first, columns), table.values.row(c).begin());
  if (!semantics.attribute_names.empty())
    table.attribute_names.assign(semantics.attribute_names.begin() + static_cast<std::ptrdiff_t>(first),
                                 semantics.attribute_names.begin() + static_cast<std::ptrdiff_t>(first + columns));
  return table;
}

}  // namespace parsnets
