// parsnets bench: a table of methods on one data set, over several seeds.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.hpp"
#include "command.hpp"
#include "data/split.hpp"
#include "eval/metrics.hpp"
#include "eval/reference.hpp"
#include "experiments/bench_entries.hpp"
#include "experiments/bench_results.hpp"
#include "experiments/result_table.hpp"
#include "experiments/study_tables.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "train/train_options.hpp"

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

std::vector<Entry> entries_of(BenchState& state, const Context& context) {
  refuse_if(state.ablation() && !state.sweep.empty(), "--methods ablation conflicts with --sweep");
  if (!state.sweep.empty() && !context.is_given("methods")) state.methods = "parsnets";
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
  RunEntry how{context.common.seed, static_cast<std::uint64_t>(state.seeds), {}, {}, {}};
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

// The rows as lines of a Markdown table.

using Json = nlohmann::ordered_json;

std::string mean_and_spread(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const Interval interval = confidence_interval(values);
  return values.size() == 1 ? fmt::format("{:.1f}", interval.mean)
                            : fmt::format("{:.1f} ± {:.1f}", interval.mean, interval.sd);
}

/// Text that stays in its cell.
std::string cell(std::string text) {
  for (char& c : text)
    if (c == '|' || c == '\n') c = c == '|' ? '/' : ' ';
  return text;
}

/// "ZSL 61.2 [55.0, 67.1]"; a difference has a sign and p.
std::string result_with_interval(const char* name, const Json& row, const char* key) {
  if (!row.contains(key)) return "";
  const Json& result = row.at(key);
  const double low = result.at("low").get<double>(), high = result.at("high").get<double>();
  if (!result.contains("difference"))
    return fmt::format("  {} {:.1f} [{:.1f}, {:.1f}]", name, result.at("estimate").get<double>(), low, high);
  return fmt::format("  {} {:+.1f} [{:+.1f}, {:+.1f}] p {:.2g}", name, result.at("difference").get<double>(), low, high,
                     result.at("p").get<double>());
}

std::string bench_table_head() {
  return "| method | ZSL | U | S | H | AUSUC | val ZSL | gap | seconds |\n|---|---|---|---|---|---|---|---|---|\n";
}

/// A line for {"method", "runs", "error"?}.
std::string bench_table_row(const Json& method) {
  const Json& runs = method.at("runs");
  std::string name = method.at("method").get<std::string>();
  if (method.contains("error")) name += fmt::format(" (failed: {})", method.at("error").get<std::string>());
  const auto gaps = values_of(runs, "/record/svr/relative_gap");
  const std::string gap = gaps.empty() ? "-" : fmt::format("{:.1e}", *std::max_element(gaps.begin(), gaps.end()));
  std::string line = "| " + cell(name);
  for (const char* at :
       {"/zsl/top1_per_class", "/gzsl/u", "/gzsl/s", "/gzsl/h", "/gzsl/ausuc", "/record/validation/zsl"})
    line += " | " + mean_and_spread(values_of(runs, at));
  return line + " | " + gap + " | " + mean_and_spread(values_of(runs, "/seconds")) + " |\n";
}

/// What to read below the table: the intervals of each row, and the differences of the others from the first. "" if no
/// row has intervals.
std::string bench_uncertainty(const Json& methods) {
  std::size_t width = 0;
  for (const auto& row : methods) width = std::max(width, row.at("method").get<std::string>().size());
  const auto lines = [&](const char* key, const std::string& heading) {
    std::string text;
    for (const auto& row : methods)
      if (row.contains(key))
        text +=
            fmt::format("  {:<{}}{}{}\n", row.at("method").get<std::string>(), width,
                        result_with_interval("ZSL", row.at(key), "zsl"), result_with_interval("H", row.at(key), "h"));
    return text.empty() ? "" : "\n" + heading + "\n" + text;
  };
  return lines("intervals",
               "95 % intervals over classes and samples: where results may lie with other test classes of this kind") +
         lines("versus", fmt::format("difference from {} on the same classes and samples, 95 % interval; p: exchanging "
                                     "the methods in whole classes",
                                     methods.empty() ? "" : methods.at(0).at("method").get<std::string>()));
}

/// A line for each row that was not measured here.
std::string cited_table_rows(const std::vector<CitedRow>& rows) {
  std::string text;
  const auto percent = [](const std::optional<double>& v) { return v ? fmt::format("{:.1f}", *v) : std::string("-"); };
  for (const auto& row : rows) {
    std::vector<std::string> about{row.features, row.source};
    if (row.own) about = {row.features, row.semantics, row.split, row.source, "own row, not measured here"};
    std::erase(about, "");
    text += fmt::format("| *{}* ({}) | {} | {} | {} | {} | - | - | - | - |\n", cell(row.method),
                        cell(fmt::format("{}", fmt::join(about, "; "))), percent(row.zsl), percent(row.u),
                        percent(row.s), percent(row.h));
  }
  return text;
}

// Tables of results as files, in the format that the ending of each says.

constexpr const char* kTableOption = "table";

void write_table_files(const ResultTable& table, const std::string& files) {
  for (const auto& name : parts_of(files)) {
    make_folder_of(name);
    write_text_file(name, to_text(table, table_format_of(name, kTableOption)));
  }
}

/// Every data set with published or own rows, each with its table.
Output published_results(const std::vector<CitedRow>& own, const std::string& tables) {
  std::vector<std::vector<CitedRow>> sets;
  for (const auto* rows : {&published_rows(), &own})
    for (const auto& row : *rows) {
      const auto about = [&](const auto& set) { return same_data_name(set[0].data, row.data); };
      const auto found = std::ranges::find_if(sets, about);
      (found == sets.end() ? sets.emplace_back() : *found).push_back(row);
    }
  Output output;
  std::vector<CitedRow> all;
  for (const auto& rows : sets) {
    const std::string& set = rows[0].data;
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
  Command command{"bench", "train and evaluate several methods on one data set",
                  "parsnets bench data/demo --methods ridge,eszsl,scln:networks=32:encoding=96:active=8 --search grid"};
  command.by_place = {"data"};
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
      .path("rows", state->rows, "CSV or JSON file with rows of your own, printed with the published ones")
      .text(kTableOption, state->tables,
            "files for the table, comma-separated; the ending is the format: .md, .csv, .tex (booktabs) or .json");
  // The options of train apply to every method unless its entry says otherwise; the method itself comes from --methods.
  command.options.append(train_option_table(state->train), {"method"});
  add_load_options(command.options, state->load);
  command.run = [state](Context& context) {
    refuse_if(state->data.empty() && !state->reference, "bench: expected --data DIR, or --reference alone");
    refuse_if(state->resume && state->out.empty(), "--resume needs --out FILE");
    if (!state->out.empty()) check_writable(state->out);
    for (const auto& name : parts_of(state->tables)) {
      table_format_of(name, kTableOption);  // refuses another ending
      check_writable(name);
    }
    const auto own = state->rows.empty() ? std::vector<CitedRow>() : read_own_rows(state->rows);
    if (state->data.empty()) return published_results(own, state->tables);
    state->load.memory_limit = state->train.run.memory_limit;
    const auto entries = entries_of(*state, context);
    const Dataset data = load_data(state->load, state->data, context);
    ThreadPool pool(context.threads());
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
    auto cited = cited_rows(data.name, data.known_as, data.split.proposed_of, own);
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
