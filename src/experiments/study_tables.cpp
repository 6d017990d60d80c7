#include "experiments/study_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "eval/reference.hpp"

namespace parsnets {

using Json = nlohmann::ordered_json;

namespace {

using Results = Json StudySet::*;

const Json* row_of(const Json& results, const std::string& label) {
  if (!results.is_object()) return nullptr;
  for (const auto& row : results.at("methods"))
    if (row.at("method") == label) return &row;
  return nullptr;
}

/// Labels of the rows of all sets, in the order in which they first occur.
std::vector<std::string> labels_of(const std::vector<StudySet>& sets, Results results) {
  std::vector<std::string> labels;
  for (const auto& set : sets) {
    if (!(set.*results).is_object()) continue;
    for (const auto& row : (set.*results).at("methods"))
      if (const auto label = row.at("method").get<std::string>(); std::ranges::find(labels, label) == labels.end())
        labels.push_back(label);
  }
  return labels;
}

std::optional<double> number_at(const Json& json, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!json.contains(at) || !json.at(at).is_number()) return std::nullopt;
  const auto number = json.at(at).get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;  // one seed has no spread
}

ResultCell summary_cell(const Json& row, const std::string& metric) {
  return {number_at(row, ("/summary/" + metric + "/mean").c_str()),
          number_at(row, ("/summary/" + metric + "/sd").c_str())};
}

double mean_of_runs(const Json& row, const char* key) {
  double sum = 0;
  for (const auto& run : row.at("runs")) sum += run.value(key, 0.0);
  return sum / static_cast<double>(row.at("runs").size());
}

/// A column of each set and how its cell is read from a row of results.
struct Measure {
  ResultColumn column;
  std::function<ResultCell(const Json& row)> cell;
};

/// Rows x (sets x measures). Sets without these results get no columns.
ResultTable grid(const std::vector<StudySet>& sets, Results results, const std::string& head,
                 const std::vector<Measure>& measures) {
  ResultTable table;
  table.row_heads = {head};
  std::vector<const StudySet*> shown;
  for (const auto& set : sets)
    if ((set.*results).is_object()) shown.push_back(&set);
  for (const auto* set : shown)
    for (const auto& measure : measures) {
      table.columns.push_back(measure.column);
      table.columns.back().group = set->title;
    }
  for (const auto& label : labels_of(sets, results)) {
    ResultRow row{{label}, {}, RowSource::measured};
    for (const auto* set : shown)
      for (const auto& measure : measures) {
        const Json* found = row_of(set->*results, label);
        row.cells.push_back(found == nullptr || found->at("runs").empty() ? ResultCell{} : measure.cell(*found));
      }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Measure summary(const char* name, const char* metric) {
  return {{"", name}, [metric](const Json& row) { return summary_cell(row, metric); }};
}

/// "mean ± standard deviation over 3 seeds", by the runs that are there.
std::string seeds_text(const std::vector<StudySet>& sets, Results results) {
  std::size_t fewest = 0, most = 0;
  for (const auto& set : sets) {
    if (!(set.*results).is_object()) continue;
    for (const auto& row : (set.*results).at("methods")) {
      const std::size_t runs = row.at("runs").size();
      if (runs == 0) continue;
      fewest = fewest == 0 ? runs : std::min(fewest, runs);
      most = std::max(most, runs);
    }
  }
  if (most <= 1) return "one seed";
  return fmt::format("mean ± standard deviation over {} seeds",
                     fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most));
}

const char* const kMarks = "The best of the rows measured here and of own rows is bold, the second underlined.";

void add_failures(const std::vector<StudySet>& sets, Results results, ResultTable& table) {
  for (const auto& set : sets) {
    if (!(set.*results).is_object()) continue;
    for (const auto& row : (set.*results).at("methods"))
      if (row.contains("error"))
        table.notes.push_back(fmt::format("{} failed on {}: {}", row.at("method").get<std::string>(), set.title,
                                          row.at("error").get<std::string>()));
  }
}

std::string stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

/// Whether a cited row belongs to the columns of a set. Where a data set has several choices of features or semantics,
/// a row that names one of them belongs to that one, any other row to the first.
bool is_about(const CitedRow& row, const StudySet& set, const std::vector<StudySet>& sets) {
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

using CitedValue = std::optional<double> CitedRow::*;

/// Adds the rows that were not measured here, own ones first; `values` are the columns of each set.
void add_cited(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own,
               const std::vector<CitedValue>& values, ResultTable& table) {
  std::map<std::string, std::vector<std::string>> sources;
  std::vector<ResultRow> rows[2];
  std::size_t first_column = 0;
  for (const auto& set : sets) {
    if (!set.methods.is_object()) continue;
    const auto about = cited_rows(
        {set.methods.value("data", ""), set.methods.value("known_as", ""), set.methods.value("proposed_split_of", "")},
        own);
    for (const auto& cited : about) {
      if (!is_about(cited, set, sets)) continue;
      if (std::ranges::none_of(values, [&](CitedValue value) { return (cited.*value).has_value(); })) continue;
      const std::string head = head_of(cited);
      auto& block = rows[cited.own ? 0 : 1];
      auto found = std::ranges::find_if(block, [&](const ResultRow& row) { return row.heads[0] == head; });
      if (found == block.end()) {
        block.push_back(
            {{head}, std::vector<ResultCell>(table.columns.size()), cited.own ? RowSource::own : RowSource::published});
        found = std::prev(block.end());
        if (!cited.source.empty()) sources[cited.source].push_back(cited.method);
      }
      for (std::size_t v = 0; v < values.size(); ++v)
        if (cited.*values[v]) found->cells[first_column + v].mean = cited.*values[v];
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

Measure interval(const char* metric, const char* name, const char* end, const char* title) {
  const std::string pointer = fmt::format("/{}/{}/{}", name, metric, end);
  return {{"", title, 1, false}, [pointer](const Json& row) {
            return ResultCell{number_at(row, pointer.c_str()), {}};
          }};
}

}  // namespace

ResultTable zsl_table(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own) {
  ResultTable table = grid(sets, &StudySet::methods, "method", {summary("", "zsl")});
  table.name = "zsl";
  table.caption = fmt::format("Zero-shot learning: top-1 accuracy per class in percent on unseen classes, {}. {}",
                              seeds_text(sets, &StudySet::methods), kMarks);
  add_failures(sets, &StudySet::methods, table);
  add_cited(sets, own, {&CitedRow::zsl}, table);
  return table;
}

ResultTable gzsl_table(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own) {
  ResultTable table =
      grid(sets, &StudySet::methods, "method", {summary("U", "u"), summary("S", "s"), summary("H", "h")});
  table.name = "gzsl";
  table.caption = fmt::format(
      "Generalised zero-shot learning: accuracy per class in percent on unseen (U) and seen classes (S) and their "
      "harmonic mean (H), {}. {}",
      seeds_text(sets, &StudySet::methods), kMarks);
  add_cited(sets, own, {&CitedRow::u, &CitedRow::s, &CitedRow::h}, table);
  return table;
}

ResultTable ablation_table(const std::vector<StudySet>& sets) {
  ResultTable table = grid(sets, &StudySet::ablation, "model", {summary("ZSL", "zsl"), summary("H", "h")});
  table.name = "ablation";
  table.notes = {"Rows of the paper's method, which have the squared loss, choose lambda on validation classes."};
  table.caption = fmt::format("Ablation: parts of the method, accuracies in percent, {}. {}",
                              seeds_text(sets, &StudySet::ablation), kMarks);
  add_failures(sets, &StudySet::ablation, table);
  return table;
}

ResultTable sparsity_table(const std::vector<StudySet>& sets) {
  ResultTable table = grid(sets, &StudySet::sparsity, "open networks", {summary("ZSL", "zsl"), summary("H", "h")});
  table.name = "sparsity";
  table.caption = fmt::format("Sparsity: accuracies in percent by the number of open networks of 200, {}. {}",
                              seeds_text(sets, &StudySet::sparsity), kMarks);
  for (auto& row : table.rows)  // "parsnets open=10"
    if (const auto at = row.heads[0].rfind("open="); at != std::string::npos)
      row.heads[0] = row.heads[0].substr(at + 5);
  add_failures(sets, &StudySet::sparsity, table);
  return table;
}

ResultTable cost_table(const std::vector<StudySet>& sets) {
  ResultTable table = grid(sets, &StudySet::methods, "method",
                           {{{"", "s", 1, false},
                             [](const Json& row) {
                               return ResultCell{mean_of_runs(row, "seconds"), {}};
                             }},
                            {{"", "MB", 2, false}, [](const Json& row) {
                               return ResultCell{mean_of_runs(row, "model_bytes") / 1e6, {}};
                             }}});
  table.name = "costs";
  table.caption = "Seconds of training, the choice of settings included, and size of the model file in MB.";
  table.notes = {"Times are those of the machine on which the runs were made, with whatever else ran on it."};
  return table;
}

ResultTable interval_table(const std::vector<StudySet>& sets) {
  ResultTable table =
      grid(sets, &StudySet::methods, "method",
           {interval("zsl", "intervals", "low", "ZSL from"), interval("zsl", "intervals", "high", "ZSL to"),
            interval("h", "intervals", "low", "H from"), interval("h", "intervals", "high", "H to")});
  table.name = "intervals";
  table.caption =
      "95 % intervals of ZSL and H by a bootstrap over test classes and over the samples of each class, in percent.";
  return table;
}

ResultTable comparison_table(const std::vector<StudySet>& sets) {
  Measure p_zsl = interval("zsl", "versus", "p", "p of ZSL"), p_h = interval("h", "versus", "p", "p of H");
  p_zsl.column.decimals = p_h.column.decimals = 3;
  ResultTable table =
      grid(sets, &StudySet::methods, "method",
           {interval("zsl", "versus", "difference", "ZSL"), p_zsl, interval("h", "versus", "difference", "H"), p_h});
  const auto labels = labels_of(sets, &StudySet::methods);
  std::erase_if(table.rows, [](const ResultRow& row) {
    return std::ranges::none_of(row.cells, [](const ResultCell& cell) { return cell.mean.has_value(); });
  });
  table.name = "comparisons";
  table.caption = fmt::format(
      "Difference from {} in points on the same test samples, and two-sided p of a test in which the two methods "
      "change "
      "places in whole classes.",
      labels.empty() ? "the first method" : labels.front());
  return table;
}

ResultTable data_table(const std::vector<StudySet>& sets) {
  ResultTable table;
  table.name = "data";
  table.caption = "Data sets.";
  table.row_heads = {"data set", "features", "semantics", "split", "checksum"};
  for (const char* name : {"samples", "dimensions", "seen classes", "unseen classes"})
    table.columns.push_back({"", name, 0, false});
  for (const auto& set : sets) {
    const Json& info = set.methods.is_object() ? set.methods : set.ablation;
    if (!info.is_object()) continue;
    ResultRow row{{set.title, info.value("features", ""), info.value("semantics", ""), info.value("split", ""),
                   info.value("checksum", "")},
                  {},
                  RowSource::measured};
    for (const char* key : {"/samples", "/dimensions", "/seen_classes", "/unseen_classes"})
      row.cells.push_back({number_at(info, key), {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<ResultTable> study_tables(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own) {
  std::vector<ResultTable> tables{zsl_table(sets, own),   gzsl_table(sets, own), ablation_table(sets),
                                  sparsity_table(sets),   cost_table(sets),      interval_table(sets),
                                  comparison_table(sets), data_table(sets)};
  std::erase_if(tables, [](const ResultTable& table) { return table.rows.empty(); });
  return tables;
}

ResultTable methods_table(const StudySet& set, const std::vector<CitedRow>& cited) {
  ResultTable table = grid({set}, &StudySet::methods, "method",
                           {summary("ZSL", "zsl"), summary("U", "u"), summary("S", "s"), summary("H", "h")});
  for (auto& column : table.columns) column.group.clear();
  table.name = "results";
  const std::string split = set.methods.value("split", "");
  table.caption = fmt::format("{} ({}, {}{}{}): accuracies in percent, {}. {}", set.title,
                              set.methods.value("features", ""), set.methods.value("semantics", ""),
                              split.empty() ? "" : ", ", split, seeds_text({set}, &StudySet::methods), kMarks);
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
      const std::vector<std::string> heads{row.method, row.features, row.semantics, row.source};
      const RowSource source = own ? RowSource::own : RowSource::published;
      auto found = std::ranges::find_if(
          table.rows, [&](const ResultRow& other) { return other.heads == heads && other.source == source; });
      if (found == table.rows.end()) {
        table.rows.push_back({heads, std::vector<ResultCell>(table.columns.size()), source});
        found = std::prev(table.rows.end());
      }
      const auto first = static_cast<std::size_t>(std::ranges::find(sets, row.data) - sets.begin()) * 4;
      const std::optional<double> values[] = {row.zsl, row.u, row.s, row.h};
      for (std::size_t v = 0; v < 4; ++v)
        if (values[v]) found->cells[first + v].mean = values[v];
    }
  return table;
}

}  // namespace parsnets
