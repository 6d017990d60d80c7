#include "eval_open_set.hpp"

#include <fmt/format.h>

#include <cmath>

#include "formats/csv.hpp"

namespace parsnets::cli {

namespace {

std::string turns_text(const OpenSetEvaluation& result) {
  std::string text;
  if (result.turns.size() == 2)
    text = fmt::format("the unseen classes left out of the bank in two turns, {} and {} of them",
                       result.turns[0].size(), result.turns[1].size());
  else if (!result.turns[0].empty())
    text = fmt::format("{} unseen class{} left out of the bank", result.turns[0].size(),
                       result.turns[0].size() == 1 ? "" : "es");
  if (!result.not_in_bank.empty())
    text += fmt::format("{}{} class{} not in the bank", text.empty() ? "" : ", ", result.not_in_bank.size(),
                        result.not_in_bank.size() == 1 ? "" : "es");
  return text;
}

std::string share_line(const char* name, const AcceptedShare& share) {
  if (share.samples == 0) return "";
  const std::string interval = std::isnan(share.of_classes.low)
                                   ? "-"
                                   : fmt::format("{:.1f} to {:.1f}", share.of_classes.low, share.of_classes.high);
  return fmt::format("{:<24}{:>8}{:>9}{:>10.2f}{:>10.2f}  {}\n", name, share.samples, share.classes, share.accepted,
                     100 - share.accepted, interval);
}

}  // namespace

std::vector<std::string> parse_unknown_classes(const std::string& text, const Dataset& data) {
  if (text.empty()) return {};
  if (text != "all") return parse_list(text, "--unknown-classes");
  std::vector<std::string> names;
  for (const auto c : data.unseen_classes()) names.push_back(data.class_names[static_cast<std::size_t>(c)]);
  return names;
}

std::string open_set_text(const OpenSetEvaluation& result, const Rejection& rejection) {
  std::string text = fmt::format("open set: {}; thresholds for {:.4g} % of unknown samples accepted\n",
                                 turns_text(result), 100 * rejection.false_accept);
  text += fmt::format("{:<24}{:>8}{:>9}{:>10}\n", "score", "AUROC", "FPR95", "OSCR");
  for (const auto& [name, quality] :
       {std::pair("known score", &result.by_known_score), std::pair("largest softmax", &result.by_confidence)})
    text += fmt::format("{:<24}{:>8.2f}{:>9.2f}{:>10.2f}\n", name, quality->auroc, quality->fpr95, quality->oscr);
  text += fmt::format("\n{:<24}{:>8}{:>9}{:>10}{:>10}  {}\n", "samples", "number", "classes", "accepted", "rejected",
                      "95 % interval of accepted, over classes");
  text += share_line("known, seen classes", result.known_seen);
  text += share_line("known, unseen classes", result.known_unseen);
  text += share_line("unknown", result.unknown);
  text += fmt::format("{:.2f} % of the known samples get their class{}\n", result.known_right,
                      result.turns.size() == 2 ? "; a sample counts in both turns" : "");
  text += fmt::format("\n{:<24}{:>8}{:>9}{:>10}\n", "inputs of no class", "number", "rejected", "AUROC");
  for (const auto& inputs : result.no_class)
    text += fmt::format("{:<24}{:>8}{:>9.2f}{:>10.2f}  {}\n", inputs.name, inputs.inputs, inputs.rejected, inputs.auroc,
                        inputs.features);
  return text;
}

}  // namespace parsnets::cli
