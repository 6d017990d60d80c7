// parsnets reference: the published results on the Proposed Splits.

#include "eval/reference.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

Command reference_command() {
  auto set = std::make_shared<std::string>();
  Command command;
  command.name = "reference";
  command.summary = "print published results, each with its features, semantics and source";
  command.example = "parsnets reference --set CUB";
  command.options.text("set", *set, "one of SUN, CUB, AWA2, APY (default: all)");
  command.run = [set](Context&) {
    Output output;
    bool known = set->empty();
    for (std::size_t k = 0; k < kReferenceSets.size(); ++k) {
      if (!set->empty() && *set != kReferenceSets[k]) continue;
      known = true;
      output.text += fmt::format("{}{}\n{:<40}{:>6}{:>7}{:>7}{:>7}  {}\n", output.text.empty() ? "" : "\n",
                                 kReferenceSets[k], "method", "ZSL", "U", "S", "H", "features; semantics; source");
      auto& list = output.json[kReferenceSets[k]] = nlohmann::ordered_json::array();
      for (const auto& row : reference_rows()) {
        const auto& f = row.sets[k];
        if (f.zsl < 0 && f.h < 0) continue;
        const auto percent = [](double v) { return v < 0 ? std::string("-") : fmt::format("{:.1f}", v); };
        const auto json = [](double v) { return v < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(v); };
        list.push_back({{"method", row.method},
                        {"zsl", json(f.zsl)},
                        {"u", json(f.u)},
                        {"s", json(f.s)},
                        {"h", json(f.h)},
                        {"features", row.features},
                        {"semantics", row.semantics},
                        {"source", row.source}});
        output.text += fmt::format("{:<40}{:>6}{:>7}{:>7}{:>7}  {}; {}; {}\n", row.method, percent(f.zsl), percent(f.u),
                                   percent(f.s), percent(f.h), row.features, row.semantics, row.source);
      }
    }
    if (!known) throw Error(ErrorCode::usage, "--set: expected one of SUN, CUB, AWA2, APY, found '" + *set + "'");
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
