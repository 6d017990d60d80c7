// parsnets reference: the published results on the Proposed Splits.

#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "parsnets/error.hpp"
#include "reference_table.hpp"

namespace parsnets::cli {

namespace {

std::string without_rows(bool transductive) {
  return transductive ? "no published transductive results: none could be checked against its source\n"
                      : "no published results for this data set\n";
}

}  // namespace

ReferenceTable reference_table(std::size_t set, bool transductive) {
  ReferenceTable table;
  for (const auto& row : transductive ? transductive_reference_rows() : reference_rows()) {
    const auto& f = row.sets[set];
    if (f.zsl < 0 && f.h < 0) continue;
    const auto percent = [](double v) { return v < 0 ? std::string("-") : fmt::format("{:.1f}", v); };
    const auto json = [](double v) { return v < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(v); };
    table.json.push_back({{"method", row.method},
                          {"zsl", json(f.zsl)},
                          {"u", json(f.u)},
                          {"s", json(f.s)},
                          {"h", json(f.h)},
                          {"features", row.features},
                          {"semantics", row.semantics},
                          {"source", row.source}});
    table.text += fmt::format("{:<40}{:>6}{:>7}{:>7}{:>7}  {}; {}; {}\n", row.method, percent(f.zsl), percent(f.u),
                              percent(f.s), percent(f.h), row.features, row.semantics, row.source);
  }
  if (table.json.empty())
    table.text = without_rows(transductive);
  else
    table.text =
        fmt::format("{:<40}{:>6}{:>7}{:>7}{:>7}  {}\n", "method", "ZSL", "U", "S", "H", "features; semantics; source") +
        table.text;
  return table;
}

ReferenceTable reference_table(const std::string& set, bool transductive) {
  const auto found = std::ranges::find(kReferenceSets, set);
  if (found == kReferenceSets.end()) return {nlohmann::ordered_json::array(), without_rows(transductive)};
  return reference_table(static_cast<std::size_t>(found - kReferenceSets.begin()), transductive);
}

Command reference_command() {
  struct State {
    std::string set;
    bool transductive = false;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "reference";
  command.summary = "print published results, each with its features, semantics and source";
  command.example = "parsnets reference --set CUB";
  command.options.text("set", state->set, "one of SUN, CUB, AWA2, APY (default: all)")
      .flag("transductive", state->transductive,
            "results of methods fitted to the unlabelled test samples, which are never shown among the others");
  command.run = [state](Context&) {
    Output output;
    bool known = state->set.empty();
    for (std::size_t k = 0; k < kReferenceSets.size(); ++k) {
      if (!state->set.empty() && state->set != kReferenceSets[k]) continue;
      known = true;
      const ReferenceTable table = reference_table(k, state->transductive);
      output.text += fmt::format("{}{}{}\n{}", output.text.empty() ? "" : "\n", kReferenceSets[k],
                                 state->transductive ? ", transductive" : "", table.text);
      (state->transductive ? output.json["transductive"][kReferenceSets[k]] : output.json[kReferenceSets[k]]) =
          table.json;
    }
    if (!known) throw Error(ErrorCode::usage, "--set: expected one of SUN, CUB, AWA2, APY, found '" + state->set + "'");
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
