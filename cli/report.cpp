// parsnets report: run folders to one self-contained HTML page.

#include "parsnets/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/file.hpp"
#include "command.hpp"
#include "eval/own_rows.hpp"
#include "experiments/run_report.hpp"
#include "load_flags.hpp"
#include "page_pictures.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

Command report_command() {
  struct State {
    std::string runs, data;
    std::filesystem::path out, json, pictures, png, rows;
    std::string picture_formats = "png";
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
      .path("pictures", state->pictures, "also write the figures as files to this folder; needs an installed Chromium")
      .text("picture-format", state->picture_formats,
            "formats of the files of --pictures, comma-separated: png, svg, pdf")
      .path("png", state->png, "the same as --pictures DIR --picture-format png")
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
    const bool given_png = !state->png.empty();
    if (given_png && !state->pictures.empty()) throw Error(ErrorCode::usage, "--png conflicts with --pictures");
    const std::filesystem::path pictures = given_png ? state->png : state->pictures;
    const auto formats = parse_picture_formats(given_png ? "png" : state->picture_formats, "picture-format");
    if (!pictures.empty()) {
      check_writable_folder(pictures);
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
    const std::string json = report_on_runs(folders, options, state->memory_limit, pool, context.progress);
    const std::size_t data_sets = grouped_by_data(folders).size();
    const std::string page = report_page(json);
    for (const auto& file : {state->out, state->json})
      if (!file.empty()) make_folder_of(file);
    if (!state->json.empty()) write_text_file(state->json, json + "\n");
    write_text_file(state->out, page);
    Output output;
    output.json = {
        {"file", state->out.string()}, {"bytes", page.size()}, {"runs", folders.size()}, {"data_sets", data_sets}};
    output.text =
        fmt::format("{}: {} run{}{}, {}; open it in a browser\n", state->out.string(), folders.size(),
                    folders.size() == 1 ? "" : "s", data_sets == 1 ? "" : fmt::format(" on {} data sets", data_sets),
                    format_bytes(static_cast<double>(page.size())));
    if (!pictures.empty()) {
      const auto files = write_page_pictures(state->out, pictures, formats, context.progress);
      output.json["pictures"] = files.size();
      output.text += fmt::format("{}: {} pictures\n", pictures.string(), files.size());
    }
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
