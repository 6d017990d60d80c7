#include "experiments/study_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

namespace parsnets {

using Json = nlohmann::ordered_json;

namespace {

using Sets = std::vector<StudySet>;
using Results = Json StudySet::*;

/// The rows of a part of a set; none where it was not run.
const Json& rows_of(const StudySet& set, Results results) {
  static const Json none = Json::array();
  return (set.*results).is_object() ? (set.*results).at("methods") : none;
}

/// Labels of the rows of all sets, in the order in which they first occur.
std::vector<std::string> labels_of(const Sets& sets, Results results) {
  std::vector<std::string> labels;
  for (const auto& set : sets)
    for (const auto& row : rows_of(set, results))
      if (const auto label = row.at("method").get<std::string>(); std::ranges::find(labels, label) == labels.end())
        labels.push_back(label);
  return labels;
}

std::optional<double> number_at(const Json& json, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  if (!json.contains(at) || !json.at(at).is_number()) return std::nullopt;
  const auto number = json.at(at).get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;  // one seed has no spread
}

/// A column of each set and how its cell is read from a row of results.
struct Measure {
  ResultColumn column;
  std::function<ResultCell(const Json& row)> cell;
};

/// Rows x (sets x measures). Sets without these results get no columns.
ResultTable grid(const std::string& name, const Sets& sets, Results results, const std::string& head,
                 const std::vector<Measure>& measures) {
  ResultTable table;
  table.name = name;
  table.row_heads = {head};
  std::vector<const StudySet*> shown;
  for (const auto& set : sets) {
    if (!(set.*results).is_object()) continue;
    shown.push_back(&set);
    for (const auto& measure : measures) {
      table.columns.push_back(measure.column);
      table.columns.back().group = set.title;
    }
  }
  for (const auto& label : labels_of(sets, results)) {
    ResultRow row{{label}, {}, RowSource::measured};
    for (const auto* set : shown) {
      const Json& rows = rows_of(*set, results);
      const auto found = std::ranges::find_if(rows, [&](const Json& one) { return one.at("method") == label; });
      for (const auto& measure : measures)
        row.cells.push_back(found == rows.end() || found->at("runs").empty() ? ResultCell{} : measure.cell(*found));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Mean and spread over seeds.
Measure summary(const char* name, const std::string& metric) {
  return {{"", name}, [at = "/summary/" + metric](const Json& row) {
            return ResultCell{number_at(row, at + "/mean"), number_at(row, at + "/sd")};
          }};
}

/// A number that is not ranked.
Measure number(const char* name, const std::string& pointer, int decimals = 1) {
  return {{"", name, decimals, false}, [pointer](const Json& row) { return ResultCell{number_at(row, pointer), {}}; }};
}

Measure mean_of_runs(const char* name, const char* key, double unit, int decimals) {
  return {{"", name, decimals, false}, [key, unit](const Json& row) {
            double sum = 0;
            for (const auto& run : row.at("runs")) sum += run.value(key, 0.0);
            return ResultCell{sum / static_cast<double>(row.at("runs").size()) / unit, {}};
          }};
}

/// "mean ± standard deviation over 3 seeds", by the runs that are there.
std::string seeds_text(const Sets& sets, Results results) {
  std::set<std::size_t> runs;
  for (const auto& set : sets)
    for (const auto& row : rows_of(set, results))
      if (!row.at("runs").empty()) runs.insert(row.at("runs").size());
  if (runs.empty() || *runs.rbegin() == 1) return "one seed";
  return fmt::format("mean ± standard deviation over {}{} seeds",
                     runs.size() == 1 ? "" : fmt::format("{} to ", *runs.begin()), *runs.rbegin());
}

/// A grid of accuracies.
ResultTable accuracy_table(const std::string& name, const Sets& sets, Results results, const std::string& head,
                           const std::vector<Measure>& measures, const std::string& about) {
  ResultTable table = grid(name, sets, results, head, measures);
  table.caption =
      fmt::format("{}, {}. The best of the rows measured here and of own rows is bold, the second underlined.", about,
                  seeds_text(sets, results));
  return table;
}

void add_failures(const Sets& sets, Results results, ResultTable& table) {
  for (const auto& set : sets)
    for (const auto& row : rows_of(set, results))
      if (row.contains("error"))
        table.notes.push_back(fmt::format("{} failed on {}: {}", row.at("method").get<std::string>(), set.title,
                                          row.at("error").get<std::string>()));
}

std::string stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

/// Whether a cited row belongs to the columns of a set. Where a data set has several choices of features or semantics,
/// a row that names one of them belongs to that one, any other row to the first.
bool is_about(const CitedRow& row, const StudySet& set, const Sets& sets) {
  const auto of_same_data = [&](const StudySet& other) {
    return other.methods.is_object() && other.methods.value("data", "") == set.methods.value("data", "");
  };
  const auto matches = [](const std::string& named, const StudySet& other, const char* key) {
    const std::string own = other.methods.value(key, "");
    const bool attributes = std::string_view(key) == "semantics" && named == "attributes" && own.starts_with("att") &&
                            own.find(',') == std::string::npos;
    return attributes || named == own || (!named.empty() && stem(named) == stem(own));
  };
  if (row.semantics == "attributes" && !matches(row.semantics, set, "semantics")) return false;
  for (const auto& [named, key] : {std::pair(row.features, "features"), std::pair(row.semantics, "semantics")}) {
    bool several = false, known = false;
    std::string first;
    for (const auto& other : sets) {
      if (!of_same_data(other)) continue;
      const std::string own = other.methods.value(key, "");
      if (first.empty()) first = own;
      several = several || own != first;
      known = known || matches(named, other, key);
    }
    if (several && !(known ? matches(named, set, key) : set.methods.value(key, "") == first)) return false;
  }
  return true;
}

/// "ALE (ResNet-101 frozen)"; semantics are named where they are not attributes, which the columns are about.
std::string head_of(const CitedRow& row) {
  std::string about = row.features;
  if (!row.own && row.semantics != "attributes") about += "; semantics: " + row.semantics;
  return about.empty() ? row.method : row.method + " (" + about + ")";
}

/// The row with these heads, which is added if need be.
ResultRow& row_of(const std::vector<std::string>& heads, const CitedRow& cited, std::size_t columns,
                  std::vector<ResultRow>& rows) {
  const RowSource source = cited.own ? RowSource::own : RowSource::published;
  const auto found =
      std::ranges::find_if(rows, [&](const ResultRow& row) { return row.heads == heads && row.source == source; });
  if (found != rows.end()) return *found;
  return rows.emplace_back(ResultRow{heads, std::vector<ResultCell>(columns), source});
}

using CitedValue = std::optional<double> CitedRow::*;

/// Adds the rows that were not measured here, own ones first; `values` are the columns of each set.
void add_cited(const Sets& sets, const std::vector<CitedRow>& own, const std::vector<CitedValue>& values,
               ResultTable& table) {
  std::map<std::string, std::vector<std::string>> sources;
  std::vector<ResultRow> rows[2];
  std::size_t first_column = 0;
  for (const auto& set : sets) {
    if (!set.methods.is_object()) continue;
    const auto about = cited_rows(set.methods.value("data", ""), set.methods.value("known_as", ""),
                                  set.methods.value("proposed_split_of", ""), own);
    for (const auto& cited : about) {
      if (!is_about(cited, set, sets)) continue;
      if (std::ranges::none_of(values, [&](CitedValue value) { return (cited.*value).has_value(); })) continue;
      auto& block = rows[cited.own ? 0 : 1];
      const std::size_t before = block.size();
      ResultRow& row = row_of({head_of(cited)}, cited, table.columns.size(), block);
      if (block.size() > before && !cited.source.empty()) sources[cited.source].push_back(cited.method);
      for (std::size_t v = 0; v < values.size(); ++v)
        if (cited.*values[v]) row.cells[first_column + v].mean = cited.*values[v];
    }
    first_column += values.size();
  }
  for (auto& block : rows)
    for (auto& row : block) table.rows.push_back(std::move(row));
  std::vector<std::string> elsewhere;
  for (const auto& row : own)
    if (std::ranges::none_of(sets, [&](const StudySet& set) {
          return set.methods.is_object() && (same_data_name(row.data, set.methods.value("data", "")) ||
                                             same_data_name(row.data, set.methods.value("known_as", "")));
        }))
      elsewhere.push_back(fmt::format("{} on {}", row.method, row.data));
  if (!elsewhere.empty())
    table.notes.push_back(fmt::format("Own rows about other data sets are left out: {}.", fmt::join(elsewhere, ", ")));
  for (const auto& [source, methods] : sources)
    table.notes.push_back(fmt::format("From {}: {}.", source, fmt::join(methods, ", ")));
}

ResultTable comparison_table(const Sets& sets) {
  ResultTable table = grid("comparisons", sets, &StudySet::methods, "method",
                           {number("ZSL", "/versus/zsl/difference"), number("p of ZSL", "/versus/zsl/p", 3),
                            number("H", "/versus/h/difference"), number("p of H", "/versus/h/p", 3)});
  std::erase_if(table.rows, [](const ResultRow& row) {
    return std::ranges::none_of(row.cells, [](const ResultCell& cell) { return cell.mean.has_value(); });
  });
  const auto labels = labels_of(sets, &StudySet::methods);
  table.caption = fmt::format(
      "Difference from {} in points on the same test samples, and two-sided p of a test in which the two methods "
      "change places in whole classes.",
      labels.empty() ? "the first method" : labels.front());
  return table;
}

ResultTable data_table(const Sets& sets) {
  ResultTable table;
  table.name = "data";
  table.caption = "Data sets.";
  table.row_heads = {"data set", "features", "semantics", "split", "checksum"};
  for (const char* name : {"samples", "dimensions", "seen classes", "unseen classes"})
    table.columns.push_back({"", name, 0, false});
  for (const auto& set : sets) {
    const Json& info = set.methods.is_object() ? set.methods : set.ablation;
    if (!info.is_object()) continue;
    ResultRow row{{set.title}, {}, RowSource::measured};
    for (const char* key : {"features", "semantics", "split", "checksum"}) row.heads.push_back(info.value(key, ""));
    for (const char* key : {"/samples", "/dimensions", "/seen_classes", "/unseen_classes"})
      row.cells.push_back({number_at(info, key), {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<ResultTable> study_tables(const Sets& sets, const std::vector<CitedRow>& own) {
  const Measure zsl = summary("ZSL", "zsl"), u = summary("U", "u"), s = summary("S", "s"), h = summary("H", "h");
  ResultTable of_zsl = accuracy_table("zsl", sets, &StudySet::methods, "method", {summary("", "zsl")},
                                      "Zero-shot learning: top-1 accuracy per class in percent on unseen classes");
  add_failures(sets, &StudySet::methods, of_zsl);
  add_cited(sets, own, {&CitedRow::zsl}, of_zsl);

  ResultTable of_gzsl =
      accuracy_table("gzsl", sets, &StudySet::methods, "method", {u, s, h},
                     "Generalised zero-shot learning: accuracy per class in percent on unseen (U) and seen classes (S) "
                     "and their harmonic mean (H)");
  add_cited(sets, own, {&CitedRow::u, &CitedRow::s, &CitedRow::h}, of_gzsl);

  ResultTable ablation = accuracy_table("ablation", sets, &StudySet::ablation, "model", {zsl, h},
                                        "Ablation: parts of the method, accuracies in percent");
  ablation.notes = {"Rows of the paper's method, which have the squared loss, choose lambda on validation classes."};
  add_failures(sets, &StudySet::ablation, ablation);

  ResultTable sparsity = accuracy_table("sparsity", sets, &StudySet::sparsity, "active networks", {zsl, h},
                                        "Sparsity: accuracies in percent by the number of active networks of 200");
  for (auto& row : sparsity.rows)  // "parsnets active=10"
    row.heads[0] = row.heads[0].substr(row.heads[0].rfind('=') + 1);
  add_failures(sets, &StudySet::sparsity, sparsity);

  ResultTable costs = grid("costs", sets, &StudySet::methods, "method",
                           {mean_of_runs("s", "seconds", 1, 1), mean_of_runs("MB", "model_bytes", 1e6, 2)});
  costs.caption = "Seconds of training, the choice of settings included, and size of the model file in MB.";
  costs.notes = {"Times are those of the machine on which the runs were made, with whatever else ran on it."};

  ResultTable intervals = grid("intervals", sets, &StudySet::methods, "method",
                               {number("ZSL from", "/intervals/zsl/low"), number("ZSL to", "/intervals/zsl/high"),
                                number("H from", "/intervals/h/low"), number("H to", "/intervals/h/high")});
  intervals.caption =
      "95 % intervals of ZSL and H by a bootstrap over test classes and over the samples of each class, in percent.";

  std::vector<ResultTable> tables{
      of_zsl, of_gzsl, ablation, sparsity, costs, intervals, comparison_table(sets), data_table(sets)};
  std::erase_if(tables, [](const ResultTable& table) { return table.rows.empty(); });
  return tables;
}

ResultTable methods_table(const StudySet& set, const std::vector<CitedRow>& cited) {
  const std::string split = set.methods.value("split", "");
  ResultTable table =
      accuracy_table("results", {set}, &StudySet::methods, "method",
                     {summary("ZSL", "zsl"), summary("U", "u"), summary("S", "s"), summary("H", "h")},
                     fmt::format("{} ({}, {}{}{}): accuracies in percent", set.title, set.methods.value("features", ""),
                                 set.methods.value("semantics", ""), split.empty() ? "" : ", ", split));
  for (auto& column : table.columns) column.group.clear();
  add_failures({set}, &StudySet::methods, table);
  for (const bool own : {true, false})
    for (const auto& row : cited)
      if (row.own == own)
        table.rows.push_back({{head_of(row)},
                              {{row.zsl, {}}, {row.u, {}}, {row.s, {}}, {row.h, {}}},
                              own ? RowSource::own : RowSource::published});
  return table;
}

ResultTable cited_table(const std::vector<CitedRow>& rows) {
  ResultTable table;
  table.name = "reference";
  table.caption =
      "Results that were not measured here: accuracies in percent. The best of own rows is bold, the second "
      "underlined.";
  table.row_heads = {"method", "features", "semantics", "source"};
  std::vector<std::string> sets;
  for (const auto& row : rows)
    if (std::ranges::find(sets, row.data) == sets.end()) sets.push_back(row.data);
  for (const auto& set : sets)
    for (const char* name : {"ZSL", "U", "S", "H"}) table.columns.push_back({set, name});
  for (const bool own : {true, false})
    for (const auto& row : rows) {
      if (row.own != own) continue;
      ResultRow& shown =
          row_of({row.method, row.features, row.semantics, row.source}, row, table.columns.size(), table.rows);
      const auto first = static_cast<std::size_t>(std::ranges::find(sets, row.data) - sets.begin()) * 4;
      const std::optional<double> values[] = {row.zsl, row.u, row.s, row.h};
      for (std::size_t v = 0; v < 4; ++v)
        if (values[v]) shown.cells[first + v].mean = values[v];
    }
  return table;
}

}  // namespace parsnets
