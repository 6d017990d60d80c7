// parsnets stats: from a data set folder, or from other statistics, to a statistics file.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/options.hpp"
#include "base/together.hpp"
#include "command.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "statistics_input.hpp"

namespace parsnets::cli {

Command stats_command() {
  struct State {
    std::string data, merge;
    std::filesystem::path out;
    LoadOptions load;
    FeatureScaling scaling = FeatureScaling::sqrt_l2;
    int groups = 4, keep = 16;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "stats";
  command.summary = "compute the statistics that 'train --stats' needs, in one pass, or merge some";
  command.runs_in_processes = true;
  command.example = "parsnets stats --data data/demo --out out/demo.stats.safetensors";
  command.options
      .text("data", state->data, "data set folder; {rank} stands for the number of the process, from 0, under mpirun")
      .text("merge", state->merge, "statistics files to add up instead, separated by commas")
      .path("out", state->out, "statistics file to write")
      .choice("feature-scaling", state->scaling,
              {{"none", FeatureScaling::none}, {"l2", FeatureScaling::l2}, {"sqrt-l2", FeatureScaling::sqrt_l2}},
              "scaling of samples; the same for all statistics to be merged")
      .integer("groups", state->groups, 1, 1024, "groups of classes for calibration; 1: no calibration")
      .integer("keep", state->keep, 0, 1000000, "samples of each class to keep for calibration");
  add_memory_limit(command.options, state->load.memory_limit);
  add_load_options(command.options, state->load);
  command.run = [state](Context& context) {
    if (state->data.empty() == state->merge.empty() || state->out.empty())
      throw Error(ErrorCode::usage, "stats: expected --data DIR or --merge FILE,FILE, and --out FILE");
    const auto& given = context.given;
    for (const char* option : {"feature-scaling", "groups", "keep", "memory-limit"})
      if (!state->merge.empty() && std::ranges::find(given, option) != given.end())
        throw Error(ErrorCode::usage, fmt::format("--merge conflicts with --{}: the files decide", option));
    Processes& processes = context.processes;
    const std::string wanted = "{rank}";
    if (processes.size() > 1 && state->data.find(wanted) == std::string::npos)
      throw Error(ErrorCode::usage, "stats: expected --data with {rank} in several processes, a folder for each");
    for (auto place = state->data.find(wanted); place != std::string::npos; place = state->data.find(wanted))
      state->data.replace(place, wanted.size(), std::to_string(processes.rank()));
    const bool first = processes.rank() == 0;
    together(processes, [&] {
      if (first) check_writable(state->out);
    });
    state->load.seed = context.common.seed;
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const StatisticsOptions options{state->scaling, static_cast<std::size_t>(state->groups),
                                    static_cast<std::size_t>(state->keep)};
    const Statistics statistics = sum_of_processes(
        state->merge.empty()
            ? collect_statistics(state->data, state->load, options, pool, context.progress, state->load.memory_limit)
            : read_statistics(state->merge, "merge", context.progress).sum,
        processes);
    if (!first) return Output{};
    make_folder_of(state->out);
    save_statistics(statistics, state->out);
    Output output;
    output.json = {{"statistics", state->out.string()}};
    output.json.update(statistics_info(statistics));
    output.json["bytes"] = std::filesystem::file_size(state->out);
    output.text = fmt::format("{}: {}, {}\n", state->out.string(), statistics_text(output.json),
                              format_bytes(output.json["bytes"].get<double>()));
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
