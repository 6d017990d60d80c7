// parsnets eval: the zero-shot protocol on the test samples of a data set, one of those that learn in the field, or
// open-set recognition.

#include <fmt/format.h>

#include <filesystem>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/processes.hpp"
#include "command.hpp"
#include "data/split.hpp"
#include "eval/metrics.hpp"
#include "eval/open_set.hpp"
#include "eval/scoring.hpp"
#include "eval_protocols.hpp"
#include "experiments/bench_results.hpp"
#include "load_flags.hpp"
#include "parsnets/device.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/field.hpp"

namespace parsnets::cli {

namespace {

/// `predicted_at_once`: what the model predicts for all test samples is in memory, too.
void require_memory_for_evaluation(std::uint64_t limit, std::size_t classes, std::size_t outputs, const Dataset& data,
                                   bool predicted_at_once, double bytes_of_sample = 100) {
  const auto samples = static_cast<double>(data.split.test_unseen.size() + data.split.test_seen.size());
  require_memory(limit,
                 scoring_bytes(std::max(classes, data.classes()), outputs, data.features.cols(), kScoredRows) +
                     bytes_of_sample * samples + (predicted_at_once ? 8 * samples * static_cast<double>(outputs) : 0),
                 "evaluation", "raise the limit");
}

/// Of a class most of whose samples are taken for one other class: which one.
std::string most_often(const std::vector<Confusion>& confusion, std::int32_t label, const Dataset& data) {
  const Confusion* most = nullptr;
  for (const Confusion& pair : confusion)
    if (pair.label == label && (most == nullptr || pair.samples > most->samples)) most = &pair;
  if (most == nullptr || most->predicted == label) return "";
  return fmt::format(", {} of them taken for {}", most->samples,
                     data.class_names[static_cast<std::size_t>(most->predicted)]);
}

/// How far confidences and prediction sets hold.
std::string confidence_text(const Evaluation& result) {
  std::string text = "ECE   ";
  if (result.has_gzsl) text += fmt::format("seen {:.2f}, ", result.details->seen_reliability.ece);
  text +=
      fmt::format("unseen {:.2f}: expected calibration error of confidences\n", result.details->unseen_reliability.ece);
  for (const SetResult& sets : result.details->sets) {
    text += fmt::format("sets  {:g} stated: ", sets.stated);
    if (sets.seen.samples > 0)
      text += fmt::format("seen {:.2f} with {:.2f} classes; ", sets.seen.coverage, sets.seen.size);
    text += fmt::format("unseen {:.2f} with {:.2f} classes (calibrated on validation classes)\n", sets.unseen.coverage,
                        sets.unseen.size);
  }
  return text;
}

/// Accuracies by class; `in_full`: also in the text, and with the confusion of classes.
void add_classes(const Evaluation& result, const Dataset& data, bool in_full, Output& output) {
  const auto name_of = [&](std::int32_t c) { return data.class_names[static_cast<std::size_t>(c)]; };
  const auto add = [&](const char* key, const std::vector<ClassAccuracy>& classes, bool among_all) {
    for (const auto& c : classes) {
      const std::string name = name_of(c.class_index);
      output.json["per_class"][key].push_back({{"class", name}, {"samples", c.samples}, {"top1", c.top1}});
      if (in_full)
        output.text += fmt::format("{:<13}{:>7.2f}  {} ({} samples{})\n", key, c.top1, name, c.samples,
                                   among_all ? most_often(result.details->confusion, c.class_index, data) : "");
    }
  };
  add("zsl", result.zsl.classes, false);
  add("gzsl_unseen", result.gzsl.unseen_classes, true);
  add("gzsl_seen", result.gzsl.seen_classes, true);
  if (!in_full) return;
  for (const auto& [label, predicted, samples] : result.details->confusion)
    output.json["confusion"].push_back(
        {{"class", name_of(label)}, {"predicted", name_of(predicted)}, {"samples", samples}});
}

EvaluationIntervals intervals_of(const Evaluation& result, const Dataset& data, ThreadPool& pool) {
  return bootstrap_intervals(outcomes_of(data, {&result.details->correct, 1}), pool);
}

}  // namespace

Command eval_command() {
  struct State {
    std::string data, model, few_shot, unknown_classes;
    std::filesystem::path out;
    bool per_class = false, allow_trained = false;
    std::optional<TransductiveProtocol> transductive;
    std::optional<double> coverage;
    bool in_the_field() const { return transductive || !few_shot.empty(); }
    /// Neither the inductive results nor their tables are printed.
    bool other_protocol() const { return in_the_field() || open_set(); }
    bool open_set() const { return !unknown_classes.empty(); }
    LoadOptions load;
  };
  auto state = std::make_shared<State>();
  Command command{"eval", "evaluate a model on the test samples of a data set",
                  "parsnets eval out/demo.safetensors data/demo"};
  command.runs_in_processes = true;
  command.by_place = {"model", "data"};
  command.options.text("model", state->model, "model file, or a device file, which the C runtime then runs")
      .text("data", state->data, "data set folder")
      .flag("per-class", state->per_class,
            "also print the accuracy of every class, and what it is mostly taken for; --json has all confusions")
      .flag("force", state->allow_trained,
            "evaluate even if the model was trained on test samples; their number is reported")
      .choice(
          "transductive", state->transductive,
          {{"none", std::nullopt}, {"unseen", TransductiveProtocol::unseen}, {"mixed", TransductiveProtocol::mixed}},
          "adapt a copy of the model to test samples without their labels first: those of unseen classes or all")
      .text("few-shot", state->few_shot,
            "teach copies of the model so many examples of each unseen class, such as 1,2,5,10, and evaluate ZSL on "
            "the other test samples")
      .text(
          "unknown-classes", state->unknown_classes,
          "evaluate open-set recognition: how well inputs of no class are rejected, and samples of unseen classes that "
          "are left out of the class set: 'halves' (one half, then the other, by --seed), 'all', or names, "
          "comma-separated")
      .share("coverage", state->coverage, "coverage of prediction sets, which calibrated models have")
      .automatic("80%, 90% and 95%")
      .path("out", state->out, "also write the results to this JSON file");
  add_data_options(command.options, state->load);
  command.run = [state](Context& context) {
    refuse_if(state->data.empty() || state->model.empty(), "eval: expected --model FILE and --data DIR");
    refuse_if(state->other_protocol() && (state->per_class || state->allow_trained),
              "--per-class and --force: expected without --transductive, --few-shot and --unknown-classes");
    refuse_if(state->open_set() && state->in_the_field(),
              "--unknown-classes conflicts with --transductive and --few-shot: one protocol at a time");
    refuse_if(state->other_protocol() && state->coverage,
              "--coverage: expected without --transductive, --few-shot and --unknown-classes");
    refuse_if(state->transductive && !state->few_shot.empty(),
              "--transductive conflicts with --few-shot: one protocol at a time");
    FewShotOptions few_shot;
    few_shot.seed = context.common.seed;
    if (!state->few_shot.empty()) few_shot.examples = parse_example_counts(state->few_shot);
    const bool first = context.processes.rank() == 0;
    refuse_if(
        context.processes.size() > 1 && (state->other_protocol() || is_device_file(state->model)),
        "eval: expected a model file without --transductive, --few-shot and --unknown-classes in several processes");
    together(context.processes, [&] {
      if (!state->out.empty() && first) check_writable(state->out);
    });
    ThreadPool pool(context.threads());
    Evaluation result;
    Dataset data;
    // Gamma of a device file is the one its model had; where that came from is not in the file.
    std::string gamma_from = "the device file", weights;  // of several tables of semantics
    Output output;
    std::string learned;  // since training: figures are not inductive
    if (is_device_file(state->model)) {
      refuse_if(state->other_protocol(),
                "--transductive, --few-shot and --unknown-classes: expected a model file, found a device file");
      refuse_if(state->coverage.has_value(), "--coverage: expected a model file, found a device file");
      const DeviceModel model = load_device_model(state->model);
      data = load_data(state->load, state->data, context);
      warn(context, source_doubt(model.source(), data));
      require_memory_for_evaluation(state->load.memory_limit, model.class_names().size(), model.outputs(), data, false);
      result = evaluate(model, data, pool, context.progress);
    } else {
      const Model model = load_model(state->model);
      refuse_if(state->coverage && model.sets.empty(),
                "the model has no prediction sets; calibrate it with 'parsnets calibrate'");
      data = load_as_trained(state->load, state->data, model.record.data, context);
      warn(context, source_doubt(model.record.data.source, data));
      require_memory_for_evaluation(state->load.memory_limit, model.classes.names.size(), model.outputs(), data,
                                    state->in_the_field(), state->open_set() ? 400 : 100);
      if (state->transductive) {
        const auto adapted = evaluate_transductive(model, data, pool, *state->transductive, context.progress);
        output = transductive_output(adapted, intervals_of(adapted.after, data, pool), model);
      } else if (!state->few_shot.empty()) {
        output = few_shot_output(evaluate_few_shot(model, data, few_shot, pool, context.progress), few_shot);
      } else if (state->open_set()) {
        OpenSetEvaluationOptions options;
        options.unknown_classes = parse_unknown_classes(state->unknown_classes, data);
        options.seed = context.common.seed;
        const auto judged = evaluate_open_set(model, data, options, pool, context.progress);
        output.json["open_set"] = open_set_json(judged, model.rejection);
        output.text = open_set_text(judged, model.rejection) + warning_lines(output.json["open_set"]);
      } else {
        result = evaluate(model, data, pool, context.progress, state->allow_trained, &context.processes,
                          state->coverage ? std::span(&*state->coverage, 1) : std::span<const double>(kCoverages));
      }
      gamma_from = model.record.validation.gamma_from;
      learned = learned_text(model);
      if (!model.semantic_preprocess.tables.empty())
        weights = nlohmann::json::parse(model.options).value("semantic-weights", "");
      if (!model.record.data.semantics.empty()) data.semantics.name = model.record.data.semantics;
    }
    if (!first) return output;
    const std::string split = split_name(data.split);
    nlohmann::ordered_json json{{"model", state->model},
                                {"data", data.name},
                                {"features", data.features_name},
                                {"semantics", data.semantics.name},
                                {"split", split}};
    if (!weights.empty()) json["semantic_weights"] = weights;
    if (!learned.empty()) json["learned_since_training"] = learned;
    json.update(output.json);
    output.json = std::move(json);
    output.text = fmt::format("{} ({}, {}{}{}{})\n", data.name, data.features_name, data.semantics.name,
                              weights.empty() ? "" : " weighted " + weights, split.empty() ? "" : ", ", split) +
                  output.text;
    if (!state->other_protocol()) {
      const auto intervals = intervals_of(result, data, pool);
      const std::string kind = learned.empty() ? "" : learned + " ";
      output.json.update(evaluation_json(result, gamma_from));
      output.json["intervals"] = intervals_json(intervals);
      output.text += evaluation_text(result, gamma_from, kind) + intervals_text(intervals, kind);
      output.json["reliability"] = reliability_json(*result.details);
      if (!result.details->sets.empty()) output.json["sets"] = sets_json(*result.details);
      output.text += confidence_text(result);
      add_classes(result, data, state->per_class, output);
      output.text += warning_lines(output.json);
    }
    add_warnings(context, output.json);
    if (!state->out.empty()) {
      make_folder_of(state->out);
      write_text_file(state->out, output.json.dump(1) + "\n");
    }
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
