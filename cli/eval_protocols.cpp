
#include "eval_protocols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/row_blocks.hpp"
#include "command.hpp"
#include "experiments/bench_results.hpp"
#include "formats/csv.hpp"

namespace parsnets::cli {

namespace {

using Json = nlohmann::ordered_json;

Json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"sd", std::isnan(interval.sd) ? Json() : Json(interval.sd)}};
}

std::string cell(const Interval& interval) {
  return std::isnan(interval.sd) ? fmt::format("{:.2f}", interval.mean)
                                 : fmt::format("{:.2f} ± {:.2f}", interval.mean, interval.sd);
}

}  // namespace

std::string evaluation_text(const Evaluation& result, const std::string& gamma_from, const std::string& name) {
  std::string text = fmt::format("{}ZSL   {:.2f} per class, {:.2f} plain, top-5 {:.2f}\n", name,
                                 result.zsl.top1_per_class, result.zsl.top1, result.zsl.top5);
  if (result.has_gzsl)
    text += fmt::format("{}GZSL  U {:.2f}, S {:.2f}, H {:.2f}, AUSUC {:.2f}; gamma {:.4g} from {}\n", name,
                        result.gzsl.u, result.gzsl.s, result.gzsl.h, result.gzsl.ausuc, result.gzsl.gamma, gamma_from);
  if (result.trained_samples != 0)
    text += fmt::format("warning: {}; these are not test results\n",
                        result.trained_samples > 0
                            ? fmt::format("the model was trained on {} of these samples", result.trained_samples)
                            : "the model was trained with other lists of samples");
  return text;
}

std::string intervals_text(const EvaluationIntervals& intervals, const std::string& name) {
  const auto part = [](const char* figure, const BootstrapInterval& interval) {
    return fmt::format("{} {:.1f} to {:.1f}", figure, interval.low, interval.high);
  };
  std::string text = fmt::format("{}95 % intervals  {}", name, part("ZSL", intervals.zsl));
  if (intervals.has_gzsl)
    text += fmt::format(", {}, {}, {}", part("U", intervals.u), part("S", intervals.s), part("H", intervals.h));
  return text + "; over test classes and samples, not over trainings\n";
}

Json moves_json(const Adaptation& adaptation, const Model& model) {
  Json moves = Json::array();
  for (const ClassMove& move : adaptation.moves)
    moves.push_back({{"class", model.classes.names[static_cast<std::size_t>(move.class_index)]},
                     {"support", move.support},
                     {"degrees", move.degrees}});
  return moves;
}

Output transductive_output(const TransductiveEvaluation& result, const EvaluationIntervals& intervals,
                           const Model& model) {
  const Adaptation& adaptation = result.adaptation;
  const std::string& gamma_from = model.record.validation.gamma_from;
  const char* protocol = result.protocol == TransductiveProtocol::mixed ? "mixed" : "unseen";
  Json json{{"protocol", protocol},
            {"samples", adaptation.samples},
            {"convincing", adaptation.convincing},
            {"classes_moved", adaptation.moves.size()},
            {"rounds", adaptation.rounds},
            {"likelihood_gain", adaptation.likelihood_gain},
            {"form", adaptation.form},
            {"because", adaptation.because}};
  json.update(evaluation_json(result.after, gamma_from));
  json["intervals"] = intervals_json(intervals);
  json["before"] = evaluation_json(result.before, gamma_from);
  json["moves"] = moves_json(adaptation, model);
  const std::string name = fmt::format("transductive ({})", protocol);
  std::string text = fmt::format(
      "{}: adapted to {} test samples without their labels, {} of them convincing; {} classes moved, likelihood gain "
      "{:.4f}\n",
      name, adaptation.samples, adaptation.convincing, adaptation.moves.size(), adaptation.likelihood_gain);
  text += evaluation_text(result.after, gamma_from, name + " ") + intervals_text(intervals, name + " ");
  text += warning_lines(json);
  return {{{"transductive", json}}, text};
}

std::vector<int> parse_example_counts(const std::string& text) {
  std::vector<int> counts;
  for (const auto& item : parse_list(text, "--few-shot")) {
    const bool digits =
        !item.empty() && item.size() <= 6 && std::ranges::all_of(item, [](char c) { return c >= '0' && c <= '9'; });
    const int count = digits ? std::stoi(item) : 0;
    refuse_if(count < 1, "--few-shot: expected numbers of examples from 1 up, found '{}'", item);
    counts.push_back(count);
  }
  return distinct(counts);
}

Output few_shot_output(const FewShotEvaluation& result, const FewShotOptions& options) {
  Json json{{"units", "percent"},
            {"metric", "zsl.top1_per_class"},
            {"draws", options.draws},
            {"seed", options.seed},
            {"descriptions_alone", result.descriptions_alone},
            {"rows", Json::array()}};
  std::string text = fmt::format(
      "few-shot: ZSL per class on the test samples that are no examples, {} draw{}\n{:>8}  {:<16}{}\n{:>8}  "
      "{:<16.2f}-\n",
      options.draws, options.draws == 1 ? "" : "s", "examples", "taught", "examples alone", 0,
      result.descriptions_alone);
  for (const auto& row : result.rows) {
    json["rows"].push_back({{"examples", row.examples},
                            {"taught", interval_json(row.taught)},
                            {"examples_alone", interval_json(row.examples_alone)}});
    text += fmt::format("{:>8}  {:<16}{}\n", row.examples, cell(row.taught), cell(row.examples_alone));
  }
  return {{{"few_shot", json}}, text};
}

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
  if (text == "halves") return {};
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
