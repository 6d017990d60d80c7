// parsnets reference: the published results on the Proposed Splits.

#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "eval/own_rows.hpp"
#include "parsnets/error.hpp"
#include "reference_table.hpp"

namespace parsnets::cli {

namespace {

std::string without_rows(bool transductive) {
  return transductive ? "no published transductive results: none could be checked against its source\n"
                      : "no published results for this data set\n";
}

}  // namespace

ReferenceTable reference_table(const std::vector<CitedRow>& rows, bool transductive) {
  ReferenceTable table;
  if (rows.empty()) {
    table.text = without_rows(transductive);
    return table;
  }
  table.text =
      fmt::format("{:<40}{:>6}{:>7}{:>7}{:>7}  {}\n", "method", "ZSL", "U", "S", "H", "features; semantics; source");
  const auto percent = [](const std::optional<double>& v) { return v ? fmt::format("{:.1f}", *v) : std::string("-"); };
  for (const auto& row : rows) {
    table.json.push_back(cited_row_json(row));
    std::vector<std::string> about{row.features, row.semantics, row.source};
    if (row.own) about = {row.features, row.semantics, row.split, row.source, "own row, not measured here"};
    std::erase(about, "");
    table.text += fmt::format("{:<40}{:>6}{:>7}{:>7}{:>7}  {}\n", row.method, percent(row.zsl), percent(row.u),
                              percent(row.s), percent(row.h), fmt::join(about, "; "));
  }
  return table;
}

Command reference_command() {
  struct State {
    std::string set;
    std::filesystem::path rows;
    bool transductive = false;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "reference";
  command.summary = "print published results, each with its features, semantics and source";
  command.example = "parsnets reference --set CUB";
  command.options.text("set", state->set, "one of SUN, CUB, AWA2, APY, or a data set of --rows (default: all)")
      .path("rows", state->rows, "CSV or JSON file with rows of your own, to be printed beside the published ones")
      .flag("transductive", state->transductive,
            "results of methods fitted to the unlabelled test samples, which are never shown among the others");
  command.run = [state](Context&) {
    if (state->transductive && !state->rows.empty())
      throw Error(ErrorCode::usage, "--rows conflicts with --transductive: own rows are results of inductive methods");
    const auto own = state->rows.empty() ? std::vector<CitedRow>() : read_own_rows(state->rows);
    std::vector<std::string> sets(kReferenceSets.begin(), kReferenceSets.end());
    for (const auto& row : own)
      if (std::ranges::none_of(sets, [&](const auto& set) { return same_data_name(set, row.data); }))
        sets.push_back(row.data);
    Output output;
    bool known = false;
    for (const auto& set : sets) {
      if (!state->set.empty() && !same_data_name(state->set, set)) continue;
      known = true;
      auto rows = published_rows(set, state->transductive);
      std::ranges::copy_if(own, std::back_inserter(rows),
                           [&](const CitedRow& row) { return same_data_name(row.data, set); });
      const ReferenceTable table = reference_table(rows, state->transductive);
      output.text += fmt::format("{}{}{}\n{}", output.text.empty() ? "" : "\n", set,
                                 state->transductive ? ", transductive" : "", table.text);
      (state->transductive ? output.json["transductive"][set] : output.json[set]) = table.json;
    }
    if (!known)
      throw Error(ErrorCode::usage,
                  fmt::format("--set: expected one of {}, found '{}'", fmt::join(sets, ", "), state->set));
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
