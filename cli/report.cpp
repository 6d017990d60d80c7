// parsnets report: run folders to one self-contained HTML page.

#include "parsnets/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/file.hpp"
#include "base/memory_limit.hpp"
#include "command.hpp"
#include "eval/own_rows.hpp"
#include "eval/score_source.hpp"
#include "experiments/run_folder.hpp"
#include "load_flags.hpp"
#include "page_pictures.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

/// The runs on one data set. Nothing of the data set stays in memory.
std::string part_data(const RunGroup& group, const ReportOptions& options, std::uint64_t memory_limit, ThreadPool& pool,
                      ProgressObserver* progress) {
  const Dataset data = load_dataset(group.data, group.load, progress);
  std::vector<Model> models;
  models.reserve(group.runs.size());
  for (const auto& run : group.runs) models.push_back(load_model(run.model));
  std::vector<ReportRun> runs;
  for (std::size_t i = 0; i < models.size(); ++i)
    runs.push_back({group.runs[i].name, &models[i], &data, group.runs[i].run_json, group.runs[i].benches});
  const auto samples = static_cast<double>(data.split.test_unseen.size() + data.split.test_seen.size()),
             classes = static_cast<double>(data.classes()), dimensions = static_cast<double>(data.features.cols());
  require_memory(memory_limit,
                 4 * samples * (classes + 3 * dimensions) + 8 * classes * classes +
                     scoring_bytes(data.classes(), data.semantics.values.cols(), data.features.cols()),
                 "the report", "give more");
  return report_data(runs, read_thumbnails(group.data, data.samples()), options, pool, progress);
}

}  // namespace

Command report_command() {
  struct State {
    std::string runs, data;
    std::filesystem::path out, json, png, rows;
    int points = 3000;
    bool quick = false;
    std::uint64_t memory_limit = 0;
    LoadOptions load;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "report";
  command.summary = "write runs as one self-contained HTML page with tables and figures";
  command.example = "parsnets report --run out/demo --out out/demo/report.html";
  command.options
      .text("run", state->runs, "run folders written by 'train --run', comma-separated; on one data set or several")
      .path("out", state->out, "HTML file to write")
      .text("data", state->data, "data set folder of all runs (default: the one each run was trained on)")
      .path("data-out", state->json, "also write the page's data as JSON")
      .path("png", state->png, "also write the figures as PNG files to this folder; needs an installed Chromium")
      .path("rows", state->rows, "CSV or JSON file with rows of your own, shown beside the published ones")
      .integer("points", state->points, 10, 100000, "maximum number of samples in the t-SNE maps")
      .flag("quick", state->quick, "skip the comparison with a model fitted without MMG");
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    if (state->runs.empty() || state->out.empty())
      throw Error(ErrorCode::usage, "report: expected --run DIR and --out FILE");
    for (const auto& file : {state->out, state->json})
      if (!file.empty()) check_writable(file);
    if (!state->png.empty()) {
      check_writable_folder(state->png);
      find_browser();
    }
    if (!state->rows.empty()) read_own_rows(state->rows);  // errors before long work
    std::vector<RunFolder> folders;
    std::istringstream list(state->runs);
    for (std::string folder; std::getline(list, folder, ',');) folders.push_back(read_run_folder(folder));
    const auto given = [&](const char* name) { return std::ranges::find(context.given, name) != context.given.end(); };
    for (auto& one : folders) {
      if (!state->data.empty()) one.data = state->data;
      if (given("features")) one.load.features = state->load.features;
      if (given("semantics")) one.load.semantics = state->load.semantics;
      if (given("original-att")) one.load.original_att = state->load.original_att;
      if (given("split")) one.load.split = state->load.split;
      if (given("missing")) one.load.missing = state->load.missing;
    }
    ReportOptions options;
    options.points = static_cast<std::size_t>(state->points);
    options.compare_mmg = !state->quick;
    options.seed = context.common.seed;
    options.own_rows = state->rows;
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    std::vector<std::string> parts;
    for (const auto& group : grouped_by_data(folders))
      parts.push_back(part_data(group, options, state->memory_limit, pool, context.progress));
    const std::string json = joined_report_data(parts);
    const std::string page = report_page(json);
    for (const auto& file : {state->out, state->json})
      if (!file.empty()) make_folder_of(file);
    if (!state->json.empty()) write_text_file(state->json, json + "\n");
    write_text_file(state->out, page);
    Output output;
    output.json = {
        {"file", state->out.string()}, {"bytes", page.size()}, {"runs", folders.size()}, {"data_sets", parts.size()}};
    output.text = fmt::format("{}: {} run{}{}, {}; open it in a browser\n", state->out.string(), folders.size(),
                              folders.size() == 1 ? "" : "s",
                              parts.size() == 1 ? "" : fmt::format(" on {} data sets", parts.size()),
                              format_bytes(static_cast<double>(page.size())));
    if (!state->png.empty()) {
      const auto pictures = write_page_pictures(state->out, state->png, context.progress);
      output.json["pictures"] = pictures.size();
      output.text += fmt::format("{}: {} pictures\n", state->png.string(), pictures.size());
    }
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
