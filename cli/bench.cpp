// parsnets bench: a table of methods on one data set, over several seeds.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.hpp"
#include "bench_table.hpp"
#include "command.hpp"
#include "data/split.hpp"
#include "eval/reference.hpp"
#include "experiments/bench_entries.hpp"
#include "experiments/bench_results.hpp"
#include "experiments/study_tables.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "parsnets/version.hpp"
#include "train/train_options.hpp"
#include "warn.hpp"

namespace parsnets::cli {

namespace {

struct BenchState {
  std::string data, methods = "ridge,eszsl", sweep, tables;
  std::filesystem::path out, rows;
  bool resume = false, reference = false;
  int seeds = 1;
  LoadOptions load;
  TrainSettings train;

  bool ablation() const { return methods == "ablation"; }
};

bool contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<Entry> entries_of(BenchState& state, const Context& context) {
  const bool methods_given = contains(context.given, "methods");
  if (state.ablation() && !state.sweep.empty())
    throw Error(ErrorCode::usage, "--methods ablation conflicts with --sweep");
  if (!state.sweep.empty() && !methods_given) state.methods = "parsnets";
  auto entries = state.ablation() ? ablation_entries(state.train) : method_entries(state.methods, state.train);
  if (!state.sweep.empty()) entries = sweep_entries(state.sweep, entries);
  return entries;
}

nlohmann::ordered_json shared_info(const BenchState& state, const Context& context, const Dataset& data) {
  auto info = bench_info(data, context.common.seed, static_cast<std::uint64_t>(state.seeds));
  if (state.ablation()) info["ablation"] = true;
  if (!state.sweep.empty()) info["sweep"] = state.sweep;
  return info;
}

std::string heading(const BenchState& state, const Dataset& data) {
  const std::string split = split_name(data.split);
  return fmt::format("{} ({}, {}{}{}), gamma and every selected option from validation classes, {} seed{}\n\n",
                     data.name, data.features_name, data.semantics.name, split.empty() ? "" : ", ", split, state.seeds,
                     state.seeds == 1 ? "" : "s");
}

void run_row(const Entry& entry, const BenchState& state, const Dataset& data, ThreadPool& pool, Context& context,
             BenchResults& results) {
  RunEntry how{{context.common.seed, static_cast<std::uint64_t>(state.seeds)}, {}, {}, {}};
  how.message = [](const Error& error) { return error.message(flag_option); };
  how.before = [&](std::uint64_t seed) {
    report_message(context.progress, fmt::format("{}, seed {}", entry.label, seed));
  };
  try {
    run_entry(entry, how, data, pool, context.progress, results);
  } catch (const Error& error) {
    const bool some =
        std::ranges::any_of(results.json()["methods"], [](const auto& row) { return !row["runs"].empty(); });
    if (error.code() != ErrorCode::cancelled || state.out.empty() || !some) throw;
    throw Error(ErrorCode::cancelled, fmt::format("{}; finished runs are in {}: go on with --resume",
                                                  error.message(flag_option), state.out.string()));
  }
}

/// Every data set with published or own rows, each with its table.
Output published_results(const std::vector<CitedRow>& own, const std::string& tables) {
  std::vector<std::string> sets(kReferenceSets.begin(), kReferenceSets.end());
  for (const auto& row : own)
    if (std::ranges::none_of(sets, [&](const auto& set) { return same_data_name(set, row.data); }))
      sets.push_back(row.data);
  Output output;
  std::vector<CitedRow> all;
  for (const auto& set : sets) {
    auto rows = published_rows(set);
    std::ranges::copy_if(own, std::back_inserter(rows), [&](const auto& row) { return same_data_name(row.data, set); });
    all.insert(all.end(), rows.begin(), rows.end());
    output.text +=
        fmt::format("{}{}\n\n{}{}", output.text.empty() ? "" : "\n", set, bench_table_head(), cited_table_rows(rows));
    for (const auto& row : rows) output.json[set].push_back(cited_row_json(row));
  }
  write_table_files(cited_table(all), tables);
  return output;
}

}  // namespace

Command bench_command() {
  auto state = std::make_shared<BenchState>();
  Command command;
  command.name = "bench";
  command.summary = "train and evaluate several methods on one data set";
  command.example =
      "parsnets bench --data data/demo --methods ridge,eszsl,scln:networks=32:encoding=96:active=8 --search grid";
  command.options.text("data", state->data, "data set folder")
      .text("methods", state->methods,
            "comma-separated methods, each with options of 'train': method:option=value:option=value; or 'ablation': "
            "the parts of the paper's method and of the default one, then the default model")
      .text("sweep", state->sweep,
            "run each method (default: parsnets) with each value of an option, name=v1,v2; k: the paper's eight "
            "sparsities")
      .path("out", state->out, "JSON file for the report, written after every run")
      .flag("resume", state->resume, "reuse the runs in --out that have the same data, options and seeds")
      .integer("seeds", state->seeds, 1, 1000, "number of seeds, starting at --seed; results are mean ± sd")
      .flag(
          "reference", state->reference,
          "also print the published results on this data set, each with its features and source; without --data: those "
          "on all data sets, and nothing else")
      .path("rows", state->rows, "CSV or JSON file with rows of your own, printed with the published ones");
  add_table_files(command.options, state->tables);
  // The options of train apply to every method unless its entry says otherwise; the method itself comes from --methods.
  OptionTable shared = train_option_table(state->train);
  command.options.append(shared, {"method"});
  add_load_options(command.options, state->load);
  command.run = [state](Context& context) {
    if (state->data.empty() && !state->reference)
      throw Error(ErrorCode::usage, "bench: expected --data DIR, or --reference alone");
    if (state->resume && state->out.empty()) throw Error(ErrorCode::usage, "--resume needs --out FILE");
    if (!state->out.empty()) check_writable(state->out);
    check_table_files(state->tables);
    const auto own = state->rows.empty() ? std::vector<CitedRow>() : read_own_rows(state->rows);
    if (state->data.empty()) return published_results(own, state->tables);
    state->load.seed = context.common.seed;
    state->load.memory_limit = state->train.run.memory_limit;
    const auto entries = entries_of(*state, context);
    const Dataset data = load_dataset(state->data, state->load, context.progress);
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    BenchResults results(shared_info(*state, context, data), state->out, state->resume);
    const auto print = [&](const std::string& text) {
      if (!context.common.json) context.print(text);
    };
    print(heading(*state, data) + bench_table_head());
    Output output;
    std::size_t failed = 0;
    std::set<std::string> notes;  // below the table, each once
    for (const auto& entry : entries) {
      run_row(entry, *state, data, pool, context, results);
      if (!entry.note.empty()) notes.insert(fmt::format("{}: {}\n", entry.label, entry.note));
      for (const auto& run : results.row()["runs"]) {
        notes.insert(warning_lines(run));
        notes.insert(warning_lines(run["record"]));
      }
      print(bench_table_row(results.row()));
      failed += results.row().contains("error");
    }
    auto cited = cited_rows(data, own);
    if (!state->reference) std::erase_if(cited, [](const CitedRow& row) { return !row.own; });
    print(cited_table_rows(cited));
    print(bench_uncertainty(results.json()["methods"]));
    for (const auto& note : notes)
      if (!note.empty()) print("\n" + note);
    output.json = results.json();
    write_table_files(methods_table({data.name, results.json(), {}, {}}, cited), state->tables);
    for (const auto& row : cited) output.json["reference"].push_back(cited_row_json(row));
    output.already_printed = !context.common.json;
    if (failed > 0) output.failure = fmt::format("{} of {} methods failed; the table says why", failed, entries.size());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
