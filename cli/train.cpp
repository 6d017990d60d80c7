// parsnets train: from a data set folder to a model file.

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/file.hpp"
#include "base/options.hpp"
#include "base/processes.hpp"
#include "command.hpp"
#include "data/split.hpp"
#include "eval_protocols.hpp"
#include "experiments/run_folder.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "photo_data.hpp"
#include "repeat.hpp"
#include "stats.hpp"
#include "store/train_record_json.hpp"
#include "terminal.hpp"
#include "train/train_options.hpp"
#include "train/train_statistics.hpp"

namespace parsnets::cli {

namespace {

/// The command as it could be typed again: the options that were given.
std::string command_line(const std::string& name, const OptionTable& options, const Context& context) {
  std::string text = "parsnets " + name;
  for (const auto& option : options.options()) {
    if (!context.is_given(option.name)) continue;
    const nlohmann::json value = option.value();
    text += " --" + option.name;
    if (!option.is_flag) text += " " + shell_word(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text + fmt::format(" --seed {}", context.common.seed);
}

std::string to_text(const std::string& out, const std::string& split, const TrainRecord& record,
                    const nlohmann::ordered_json& json) {
  std::string text =
      fmt::format("{}: {} on {} ({}, {}{}{})\n", out, json["options"]["method"].get<std::string>(), record.data.name,
                  record.data.features, record.data.semantics, split.empty() ? "" : ", ", split);
  if (record.data.semantics.find(',') != std::string::npos)
    text += fmt::format("weights of {}: {}\n", record.data.semantics,
                        json["options"]["semantic-weights"].get<std::string>());
  for (const StatisticsPart& part : record.data.statistics)
    text += fmt::format("trained from statistics: {} samples in {}\n", part.samples, part.file);
  if (record.validation.folds > 0)
    text += fmt::format("validation: ZSL {:.2f}, H {:.2f} on classes from: {}\n", record.validation.zsl,
                        record.validation.h, record.validation.classes_from);
  if (!record.selection.empty())
    text += fmt::format("selected from {} candidates: {}\n", record.selection.size(), record.chosen);
  if (const ValidationRecord& found = record.validation; found.default_zsl > 0)
    text += fmt::format(
        "the default options reach ZSL {:.2f}, H {:.2f}; leaving them gains {:.2f} ± {:.2f} points (mean of both, "
        "standard error) on folds that the choice was not made on{}\n",
        found.default_zsl, found.default_h, found.gain, found.gain_error,
        found.gain > found.gain_error ? "" : ": the default options stay");
  if (!record.left_out.empty())
    text += fmt::format("the time budget cut {} rounds of the search\n", record.left_out.size());
  const auto add_stage = [&](const char* name, const std::vector<ObjectiveStep>& steps) {
    if (!steps.empty())
      text += fmt::format("{}: objective {:.5g} to {:.5g} in {} steps\n", name, steps.front().objective,
                          steps.back().objective, steps.size() - 1);
  };
  add_stage("joint", record.joint);
  add_stage("refinement", record.refinement);
  if (record.rejection) text += "rejection: " + rejection_text(*record.rejection);
  if (const auto& svr = record.svr) {
    text += "svr: ";
    if (svr->primal) text += fmt::format("primal {:.6g}, dual {:.6g}, ", *svr->primal, *svr->dual);
    text += fmt::format("relative gap {:.2e}{}\n", svr->relative_gap, svr->converged ? "" : " (not converged)");
  }
  if (const auto& gates = record.gates)
    text += fmt::format(
        "gates: each network is active for {:.0f} / {:.0f} / {:.0f} % of the samples (min / median / max)\n",
        100 * gates->minimum, 100 * gates->median, 100 * gates->maximum);
  text += fmt::format("{:.1f} s, peak memory {}, model {}\n", json["seconds"].get<double>(),
                      format_bytes(json["peak_memory_bytes"].get<double>()),
                      format_bytes(json["model_bytes"].get<double>()));
  return text + warning_lines(json["record"]);
}

/// With statistics, a folder gives class names, semantics and split alone.
void without_features(LoadOptions& load) { load.read_features = load.require_features = false; }

struct State {
  std::string data, stats;
  std::filesystem::path out, run, classes;
  BackboneChoice backbone{.file = kUsualBackbone};
  LoadOptions load;
  TrainSettings train;
};

/// Photographs become a data set in the cache, which then is state.data.
void read_photographs(State& state, Context& context) {
  const bool photographs = holds_photographs(state.data);
  refuse_if(!photographs && (!state.classes.empty() || state.backbone.file != kUsualBackbone),
            "--classes and --backbone are for photographs; '{}' holds none in folders of their classes", state.data);
  if (!photographs) return;
  state.backbone.threads = context.threads();
  const OpenedBackbone opened = open_backbone(state.backbone, context.progress);
  state.data = data_of_photographs(state.data, state.classes, opened, state.backbone, context).string();
}

}  // namespace

Command train_command() {
  auto state = std::make_shared<State>();
  Command command{"train", "train a model on photographs or on the seen classes of a data set",
                  "parsnets train photos --classes classes.csv -o out/birds.safetensors"};
  command.runs_in_processes = true;
  command.by_place = {"data"};
  command.options.group("Data")
      .text("data", state->data, "folder of photographs, with a folder for each class, or data set folder")
      .path("classes", state->classes,
            "of photographs: table of all classes, photographed or not, a .csv file with a column 'class' and the "
            "attributes (default: classes.csv among the photographs)")
      .path("backbone", state->backbone.file,
            "of photographs: what turns them into features: mobilenet, resnet50 or an ONNX file")
      .path("out", state->out, "model file to write")
      .path("run", state->run, "run folder for 'report', instead of --out: receives model.safetensors and run.json")
      .text("stats", state->stats,
            "statistics files of 'stats', separated by commas, to train the closed form of class space from; the "
            "folder's features are not read")
      .advanced();
  add_load_options(command.options, state->load);
  command.options.append(train_option_table(state->train));
  command.options.group("Run")
      .path("checkpoint", state->train.run.checkpoint,
            "file in which training saves its state: folds that are done, steps of refinement")
      .flag("resume", state->train.run.resume, "continue from the checkpoint, with any number of processes");
  for (auto& family : method_families())
    command.families.push_back({family.title, family.methods, std::move(family.options)});
  command.resolve = [state](const CommonOptions& common) {
    const TrainOptions train = state->train.options();
    const auto left_out = state->train.options_of_others();
    // Without a data set nobody knows its size, and a search chooses by itself.
    if (state->data.empty() || holds_photographs(state->data) || train.search.kind != Search::none) return left_out;
    state->load.seed = state->train.run.seed = common.seed;
    if (!state->stats.empty()) without_features(state->load);
    const Dataset data = load_dataset(state->data, state->load);
    state->train.set(state->stats.empty()
                         ? resolve_options(train, data)
                         : resolve_options(train, data, read_statistics(state->stats, "stats", nullptr).sum));
    return left_out;
  };
  command.run = [state, options = command.options](Context& context) {
    refuse_if(!state->run.empty() && !state->out.empty(),
              "--run conflicts with --out: the model is written to DIR/model.safetensors");
    if (!state->run.empty()) state->out = state->run / "model.safetensors";
    refuse_if(state->data.empty() || state->out.empty(), "train: expected --data DIR and --out FILE or --run DIR");
    refuse_if(context.processes.size() > 1 && holds_photographs(state->data),
              "photographs are read in one process; turn them into a data set with 'parsnets extract'");
    TrainOptions train = state->train.options();
    state->load.seed = train.run.seed = context.common.seed;
    const bool first = context.processes.rank() == 0;
    const std::string out = state->out.string();
    if (context.processes.size() > 1) {
      refuse_if(!state->stats.empty(), "--stats runs in one process");
      // What went wrong has been said: by the process that failed, or by mpirun.
      const bool keeps = first && train.search.kind == Search::none;
      const std::string hint =
          fmt::format("the job was ended; --resume goes on from what {}.checkpoint.* or --checkpoint holds\n", out);
      end_when_terminated(keeps ? hint : "");
    }
    if (train.run.checkpoint.empty() && (context.processes.size() > 1 || train.run.resume))
      train.run.checkpoint = out + ".checkpoint";
    together(context.processes, [&] {
      if (!first) return;
      check_writable(state->out);
      if (!state->run.empty()) check_writable(run_json_file(state->run));
      if (train.run.checkpoint.empty()) return;
      check_writable(train.run.checkpoint.string() + ".final");
      make_folder_of(train.run.checkpoint);
      if (!train.run.resume) remove_checkpoints(train.run.checkpoint);
    });
    if (!state->stats.empty()) without_features(state->load);
    state->load.memory_limit = train.run.memory_limit;
    state->backbone.memory_limit = train.run.memory_limit;
    if (first) read_photographs(*state, context);
    const Dataset data = load_dataset(state->data, state->load, context.progress);
    std::optional<StatisticsInput> sums;
    if (!state->stats.empty()) sums = read_statistics(state->stats, "stats", context.progress);
    ThreadPool pool(context.threads());
    TrainRun run;
    const Model model = sums ? train_from_statistics(sums->sum, data, train, pool, context.progress, &run, sums->parts)
                             : parsnets::train(data, train, pool, context.progress, &run, &context.processes);
    if (!first) return Output{};
    make_folder_of(state->out);
    save_model(model, state->out);
    if (!state->run.empty())
      write_run_json(state->run, state->data, state->load, command_line("train", options, context), run);
    remove_checkpoints(train.run.checkpoint);
    Output output;
    output.json = {{"model", state->out.string()},
                   {"seconds", run.seconds},
                   {"peak_memory_bytes", run.peak_memory},
                   {"model_bytes", std::filesystem::file_size(state->out)},
                   {"streamed", run.streamed},
                   {"processes", context.processes.size()},
                   {"bytes_sent", run.bytes_sent},
                   {"units", "percent"}};
    output.json["options"] = nlohmann::ordered_json::parse(model.options);
    output.json["record"] = to_json(model.record);
    if (const auto& svr = model.record.svr) {
      if (svr->primal) output.json["objective"] = *svr->primal;
      output.json["duality_gap"] = svr->relative_gap;
      output.json["svr_flops"] = run.flops;
      output.json["svr_bytes"] = run.bytes;
    }
    warn(context, weak_rejection(model));
    output.text = to_text(state->out.string(), split_name(data.split), model.record, output.json);
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
