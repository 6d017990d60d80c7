// parsnets report: run folders to one self-contained HTML page.

#include "report/report.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.hpp"
#include "command.hpp"
#include "eval/reference.hpp"
#include "experiments/run_folder.hpp"
#include "load_flags.hpp"
#include "page_pictures.hpp"

namespace parsnets::cli {

Command report_command() {
  struct State {
    std::string runs, data, pictures;
    std::filesystem::path out, rows;
    int points = 3000;
    std::uint64_t memory_limit = 0;
    LoadOptions load;
  };
  auto state = std::make_shared<State>();
  Command command{"report", "write runs as one self-contained HTML page with tables and figures",
                  "parsnets report out/demo -o out/demo/report.html"};
  command.by_place = {"run"};
  command.options
      .text("run", state->runs, "run folders written by 'train --run', comma-separated; on one data set or several")
      .path("out", state->out, "HTML file to write; with the ending .json, the data of the page instead")
      .text("data", state->data, "data set folder of all runs (default: the one each run was trained on)")
      .text(
          "pictures", state->pictures,
          "also write the figures to the folder figures beside the page, in these formats, comma-separated: png, svg, "
          "pdf; needs an installed Chromium")
      .path("rows", state->rows, "CSV or JSON file with rows of your own, shown beside the published ones")
      .integer("points", state->points, 10, 100000, "maximum number of samples in the t-SNE maps");
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    refuse_if(state->runs.empty() || state->out.empty(), "report: expected --run DIR and --out FILE");
    check_writable(state->out);
    const bool data_alone = state->out.extension() == ".json";
    const std::filesystem::path figures = state->out.parent_path() / "figures";
    const auto formats = parse_picture_formats(state->pictures);
    refuse_if(data_alone && !formats.empty(), "--pictures: expected a page to draw, found --out {}",
              state->out.string());
    if (!formats.empty()) {
      check_writable_folder(figures);
      find_browser();
    }
    if (!state->rows.empty()) read_own_rows(state->rows);  // errors before long work
    std::vector<RunFolder> folders;
    for (const auto& folder : parts_of(state->runs)) folders.push_back(read_run_folder(folder));
    for (auto& one : folders) {
      if (!state->data.empty()) one.data = state->data;
      if (context.is_given("features")) one.load.features = state->load.features;
      if (context.is_given("semantics")) one.load.semantics = state->load.semantics;
      if (context.is_given("original-att")) one.load.original_att = state->load.original_att;
      if (context.is_given("split")) one.load.split = state->load.split;
      if (context.is_given("missing")) one.load.missing = state->load.missing;
    }
    ReportOptions options;
    options.points = static_cast<std::size_t>(state->points);
    options.seed = context.common.seed;
    options.own_rows = state->rows;
    ThreadPool pool(context.threads());
    const std::string json = report_on_runs(folders, options, state->memory_limit, pool, context.progress);
    const std::size_t data_sets = grouped_by_data(folders).size();
    const std::string page = data_alone ? json + "\n" : report_page(json);
    make_folder_of(state->out);
    write_text_file(state->out, page);
    Output output;
    output.json = {
        {"file", state->out.string()}, {"bytes", page.size()}, {"runs", folders.size()}, {"data_sets", data_sets}};
    output.text =
        fmt::format("{}: {} run{}{}, {}{}\n", state->out.string(), folders.size(), folders.size() == 1 ? "" : "s",
                    data_sets == 1 ? "" : fmt::format(" on {} data sets", data_sets),
                    format_bytes(static_cast<double>(page.size())), data_alone ? "" : "; open it in a browser");
    if (!formats.empty()) {
      const auto files = write_page_pictures(state->out, figures, formats, context.progress);
      output.json["pictures"] = files.size();
      output.text += fmt::format("{}: {} pictures\n", figures.string(), files.size());
    }
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
