// parsnets bench: a table of methods on one data set, over several seeds.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.hpp"
#include "bench_entries.hpp"
#include "command.hpp"
#include "data/split.hpp"
#include "eval/reference.hpp"
#include "evaluation_json.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "train/train_options.hpp"
#include "warning_lines.hpp"

namespace parsnets::cli {

namespace {

bool contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string mean_and_spread(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const Interval interval = confidence_interval(values);
  return values.size() == 1 ? fmt::format("{:.1f}", interval.mean)
                            : fmt::format("{:.1f} ± {:.1f}", interval.mean, interval.sd);
}

}  // namespace

Command bench_command() {
  struct State {
    std::string data, methods = "ridge,eszsl", sweep;
    std::filesystem::path out;
    bool ablation = false;
    int seeds = 1;
    bool reference = false;
    LoadOptions load;
    TrainOptions train;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "bench";
  command.summary = "train and evaluate several methods on one data set";
  command.example =
      "parsnets bench --data data/demo --methods ridge,eszsl,scln:networks=32:encoding=96:open=8 --select";
  command.options.text("data", state->data, "data set folder")
      .text("methods", state->methods,
            "methods separated by commas, each with options of 'train': method:option=value:option=value")
      .flag("ablation", state->ablation,
            "in place of --methods: linear map, scln, mmg, both; each without and with refinement; then the default "
            "model")
      .text("sweep", state->sweep,
            "each method (parsnets) with each value of an option, name=v1,v2; or k, the paper's eight sparsities")
      .path("out", state->out, "file that keeps every run as JSON, for the report")
      .integer("seeds", state->seeds, 1, 1000, "how many seeds, from --seed upwards; figures are mean ± sd over them")
      .flag("reference", state->reference, "also print the published rows for this data set");
  // The options of train apply to every method unless its entry says otherwise; the method itself comes from --methods.
  OptionTable shared = train_option_table(state->train);
  command.options.append_without(shared, {"method"});
  add_load_options(command.options, state->load);
  command.run = [state](Context& context) {
    if (state->data.empty()) throw Error(ErrorCode::usage, "bench: expected --data DIR");
    state->load.seed = context.common.seed;
    state->train.pinned = context.given;
    const Dataset data = load_dataset(state->data, state->load, context.progress);
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const bool methods_given = contains(context.given, "methods");
    if (state->ablation && (methods_given || !state->sweep.empty()))
      throw Error(ErrorCode::usage, "--ablation: expected neither --methods nor --sweep beside it");
    if (!state->sweep.empty() && !methods_given) state->methods = "parsnets";
    auto entries = state->ablation ? ablation_entries(state->train) : method_entries(state->methods, state->train);
    if (!state->sweep.empty()) entries = sweep_entries(state->sweep, entries);
    if (!state->out.empty() && state->out.has_parent_path())
      std::filesystem::create_directories(state->out.parent_path());
    Output output;
    output.json = {{"data", data.name},
                   {"features", data.features_name},
                   {"semantics", data.semantics.name},
                   {"split", split_name(data.split)},
                   {"seed", context.common.seed},
                   {"seeds", state->seeds},
                   {"units", "percent"}};
    if (state->ablation) output.json["ablation"] = true;
    if (!state->sweep.empty()) output.json["sweep"] = state->sweep;
    const std::string split = split_name(data.split);
    output.text = fmt::format("{} ({}, {}{}{}), gamma and every selected option from validation classes, {} seed{}\n\n",
                              data.name, data.features_name, data.semantics.name, split.empty() ? "" : ", ", split,
                              state->seeds, state->seeds == 1 ? "" : "s");
    output.text +=
        "| method | ZSL | U | S | H | AUSUC | val ZSL | gap | seconds |\n|---|---|---|---|---|---|---|---|---|\n";
    std::set<std::string> notes;  // below the table, each once
    for (const auto& entry : entries) {
      std::vector<double> zsl, u, s, h, ausuc, validation, gaps, seconds;
      nlohmann::ordered_json runs = nlohmann::ordered_json::array();
      for (int i = 0; i < state->seeds; ++i) {
        TrainOptions options = entry.options;
        options.seed = context.common.seed + static_cast<std::uint64_t>(i);
        report_message(context.progress, fmt::format("{}, seed {}", entry.label, options.seed));
        TrainRun run;
        const Model model = train(data, options, pool, context.progress, &run);
        const TestReport report = evaluate(model, data, pool, context.progress);
        nlohmann::ordered_json json = evaluation_json(report, model.record);
        json["seed"] = options.seed;
        json["seconds"] = run.seconds;
        json["options"] = nlohmann::ordered_json::parse(model.options);
        json["record"] = nlohmann::ordered_json::parse(model.record);
        zsl.push_back(report.zsl.top1_per_class);
        seconds.push_back(run.seconds);
        if (report.has_gzsl) {
          u.push_back(report.gzsl.u);
          s.push_back(report.gzsl.s);
          h.push_back(report.gzsl.h);
          ausuc.push_back(report.gzsl.ausuc);
        }
        if (json["record"]["validation"].contains("zsl"))
          validation.push_back(json["record"]["validation"]["zsl"].get<double>());
        if (json["record"].contains("svr")) gaps.push_back(json["record"]["svr"]["relative_gap"].get<double>());
        notes.insert(warning_lines(json));
        notes.insert(warning_lines(json["record"]));
        runs.push_back(std::move(json));
      }
      nlohmann::ordered_json summary;
      const std::pair<const char*, const std::vector<double>*> figures[] = {
          {"zsl", &zsl}, {"u", &u}, {"s", &s}, {"h", &h}, {"ausuc", &ausuc}};
      for (const auto& [name, values] : figures) {
        if (values->empty()) continue;
        const Interval interval = confidence_interval(*values);
        summary[name] = {{"mean", interval.mean}, {"sd", interval.sd}, {"low", interval.low}, {"high", interval.high}};
      }
      output.json["methods"].push_back({{"method", entry.label}, {"summary", summary}, {"runs", runs}});
      if (!entry.note.empty()) {
        output.json["methods"].back()["note"] = entry.note;
        notes.insert(fmt::format("{}: {}\n", entry.label, entry.note));
      }
      const std::string gap = gaps.empty() ? "-" : fmt::format("{:.1e}", *std::max_element(gaps.begin(), gaps.end()));
      output.text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", entry.label, mean_and_spread(zsl),
                                 mean_and_spread(u), mean_and_spread(s), mean_and_spread(h), mean_and_spread(ausuc),
                                 mean_and_spread(validation), gap, mean_and_spread(seconds));
    }
    if (state->reference)
      for (std::size_t k = 0; k < kReferenceSets.size(); ++k)
        if (data.split.proposed_of == kReferenceSets[k])
          for (const auto& row : reference_rows()) {
            const auto& f = row.sets[k];
            const auto figure = [](double v) { return v < 0 ? std::string("-") : fmt::format("{:.1f}", v); };
            output.text += fmt::format("| *{}* ({}; {}) | {} | {} | {} | {} | - | - | - | - |\n", row.method,
                                       row.features, row.source, figure(f.zsl), figure(f.u), figure(f.s), figure(f.h));
          }
    for (const auto& note : notes) output.text += (note.empty() ? "" : "\n") + note;
    if (!state->out.empty()) write_text_file(state->out, output.json.dump(1) + "\n");
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
