// parsnets stats: from a data set folder, or from other statistics, to a statistics file.

#include "stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/options.hpp"
#include "base/processes.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "temporary_folder.hpp"
#include "train/train_statistics.hpp"

namespace parsnets::cli {

namespace {

const char* scaling_name(FeatureScaling scaling) {
  return scaling == FeatureScaling::none ? "none" : scaling == FeatureScaling::l2 ? "l2" : "sqrt-l2";
}

std::vector<std::string> files_in(const std::string& list, const std::string& option) {
  std::vector<std::string> files;
  for (const auto file : split_at(list, ",")) {
    files.emplace_back(file);
    refuse_if(files.back().empty(), "--{}: expected files separated by commas, found '{}'", option, list);
    refuse_if(std::ranges::count(files, files.back()) > 1, "--{}: expected each file only once, found '{}' twice",
              option, files.back());
  }
  return files;
}

/// The sum of the statistics of all processes, for the first one; the others get their own back. A collective call.
Statistics sum_of_processes(Statistics own, Processes& processes) {
  if (processes.size() == 1) return own;
  // Kept samples and classes of other processes go with the sums: the file format has all of it.
  const TemporaryFolder folder;
  const auto file = folder / "statistics";
  save_statistics(own, file);
  const auto all = processes.gather(read_text_file(file));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    write_text_file(file, all[rank]);
    own.merge(load_statistics(file));
  }
  return own;
}

}  // namespace

StatisticsInput read_statistics(const std::string& list, const std::string& option, ProgressObserver* progress) {
  StatisticsInput input;
  const auto files = files_in(list, option);
  for (std::size_t f = 0; f < files.size(); ++f) {
    report(progress, {"load statistics", f, files.size(), "files"});
    Statistics one = load_statistics(files[f]);
    input.parts.push_back({std::filesystem::path(files[f]).filename().string(), one.samples(), one.weight()});
    if (f == 0) {
      input.sum = std::move(one);
      continue;
    }
    try {
      input.sum.merge(one);
    } catch (const Error& error) {
      const BadInput what = error.parts();
      throw Error(BadInput{files[f], what.field, what.expected + ", as in " + files[0], what.found, what.advice});
    }
  }
  return input;
}

nlohmann::ordered_json statistics_info(const Statistics& statistics) {
  std::size_t kept = 0;
  for (const auto& rows : statistics.kept_rows()) kept += rows.size();
  nlohmann::ordered_json json{
      {"samples", statistics.samples()},
      {"weight", statistics.weight()},
      {"classes", std::ranges::count_if(statistics.class_weights(), [](double w) { return w > 0; })},
      {"features", statistics.dimensions()},
      {"feature_scaling", scaling_name(statistics.scaling())},
      {"groups", statistics.options().groups},
      {"kept_rows_per_class", statistics.options().kept_rows},
      {"kept_rows", kept}};
  if (statistics.source()) json["source"] = to_json(*statistics.source());
  return json;
}

std::string statistics_text(const nlohmann::ordered_json& facts) {
  return fmt::format("statistics of {} samples of {} classes, {} features, scaling {}, {} groups, {} kept rows",
                     facts["samples"].get<std::uint64_t>(), facts["classes"].get<std::uint64_t>(),
                     facts["features"].get<std::uint64_t>(), facts["feature_scaling"].get<std::string>(),
                     facts["groups"].get<std::uint64_t>(), facts["kept_rows"].get<std::uint64_t>());
}

Command stats_command() {
  struct State {
    std::string data, stats;
    std::filesystem::path out;
    LoadOptions load;
    FeatureScaling scaling = FeatureScaling::sqrt_l2;
    bool calibrate = true;
  };
  auto state = std::make_shared<State>();
  Command command{"stats", "compute the statistics that 'train --stats' needs, in one pass, or merge some",
                  "parsnets stats data/demo -o out/demo.stats.safetensors"};
  command.runs_in_processes = true;
  command.by_place = {"data"};
  command.options
      .text("data", state->data, "data set folder; {rank} stands for the number of the process, from 0, under mpirun")
      .text("stats", state->stats, "statistics files to add up instead, separated by commas")
      .path("out", state->out, "statistics file to write")
      .choice("feature-scaling", state->scaling,
              {{"none", FeatureScaling::none}, {"l2", FeatureScaling::l2}, {"sqrt-l2", FeatureScaling::sqrt_l2}},
              "scaling of samples; the same for all statistics to be merged")
      .flag_value("calibrate", state->calibrate,
                  "store what calibration needs: sums of groups of classes, and some samples of each class");
  add_memory_limit(command.options, state->load.memory_limit);
  add_load_options(command.options, state->load);
  command.run = [state](Context& context) {
    refuse_if(state->data.empty() == state->stats.empty() || state->out.empty(),
              "stats: expected --data DIR or --stats FILE,FILE, and --out FILE");
    for (const char* option : {"feature-scaling", "calibrate", "memory-limit"})
      refuse_if(!state->stats.empty() && context.is_given(option), "--stats conflicts with --{}: the files decide",
                option);
    Processes& processes = context.processes;
    const std::string wanted = "{rank}";
    refuse_if(processes.size() > 1 && state->data.find(wanted) == std::string::npos,
              "stats: expected --data with {{rank}} in several processes, a folder for each");
    for (auto place = state->data.find(wanted); place != std::string::npos; place = state->data.find(wanted))
      state->data.replace(place, wanted.size(), std::to_string(processes.rank()));
    const bool first = processes.rank() == 0;
    together(processes, [&] {
      if (first) check_writable(state->out);
    });
    state->load.seed = context.common.seed;
    ThreadPool pool(context.threads());
    const StatisticsOptions options =
        state->calibrate ? StatisticsOptions{state->scaling, 4, 16} : StatisticsOptions{state->scaling};
    const Statistics statistics = sum_of_processes(
        state->stats.empty()
            ? collect_statistics(state->data, state->load, options, pool, context.progress, state->load.memory_limit)
            : read_statistics(state->stats, "stats", context.progress).sum,
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
