// `parsnets train` with default options, from the command to the model file: seconds, memory and the second thread.
// Also the automatic search, and `parsnets calibrate`.

#include <fmt/format.h>

#include <cstdio>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "problem.hpp"

namespace bench {

namespace {

using namespace parsnets;

/// Runs the tool after these words, on this data; what it prints is in train.log.
Run run_command(const DataSource& source, const Settings& settings, const Workspace& work,
                std::vector<std::string> words, const std::vector<std::string>& command) {
  words.push_back(settings.program);
  words.insert(words.end(), command.begin(), command.end());
  words.insert(words.end(), {"--data", source.folder, "--quiet", "--json"});
  if (!source.load.features.empty()) words.insert(words.end(), {"--features", source.load.features});
  const Run run = run_program(words, work / "train.log");
  if (run.exit_code != 0)
    throw Error(ErrorCode::failure,
                fmt::format("parsnets {} failed: {}", command[0], read_text_file(work / "train.log")));
  return run;
}

/// `parsnets train` after these words, with these options.
Run train_by_command(const DataSource& source, const Settings& settings, const Workspace& work,
                     const std::vector<std::string>& words, const std::vector<std::string>& more) {
  std::vector<std::string> command{"train", "--out", work / "model.safetensors"};
  command.insert(command.end(), more.begin(), more.end());
  return run_command(source, settings, work, words, command);
}

json train_on(const DataSource& source, const Settings& settings, const Workspace& work, int samples) {
  const Dataset data = load_dataset(source.folder, source.load);
  const double features = 4 * static_cast<double>(data.features.size());
  std::vector<int> threads{1};
  if (available_cores() > 1) threads.push_back(2);
  std::vector<std::vector<double>> seconds(threads.size()), training(threads.size()), memory(threads.size());
  std::vector<MachinePeaks> peaks(threads.size());
  for (int sample = 0; sample < samples; ++sample)
    for (std::size_t t = 0; t < threads.size(); ++t) {  // in turns, and so are the peaks
      ThreadPool pool(static_cast<unsigned>(threads[t]));
      peaks[t].sample(pool);
      const Run run = train_by_command(source, settings, work, {}, {"--threads", std::to_string(threads[t])});
      seconds[t].push_back(run.seconds);
      training[t].push_back(json::parse(read_text_file(work / "train.log"))["seconds"].get<double>());
      memory[t].push_back(run.peak_rss);
    }
  json runs = json::array();
  for (std::size_t t = 0; t < threads.size(); ++t) {
    const double middle = median(seconds[t]), rss = median(memory[t]), all = static_cast<double>(seconds[t].size());
    json run{{"threads", threads[t]},
             {"samples", seconds[t]},
             {"seconds", middle},
             {"training_samples", training[t]},
             {"training_seconds", median(training[t])},
             {"peak_rss", rss},
             {"peak_rss_samples", memory[t]},
             {"rss_above_features", rss - features},
             {"gemm32_flops_per_second", peaks[t].gemm32(static_cast<std::size_t>(all))}};
    if (t > 0) {
      run["times_one_thread"] = median(training[0]) / median(training[t]);  // reading files has one thread
      run["gemm_times_one_thread"] = peaks[t].gemm32(seconds[t].size()) / peaks[0].gemm32(seconds[0].size());
    }
    fmt::print("{:<12} train, {} thread{}: {:.2f} s, peak {:.0f} MB, {:.0f} MB above the features\n", source.name,
               threads[t], threads[t] == 1 ? "" : "s", middle, rss / 1e6, (rss - features) / 1e6);
    std::fflush(stdout);
    runs.push_back(std::move(run));
  }
  return {{"data", sizes_of(source, data)}, {"features_bytes", features}, {"runs", runs}};
}

/// The automatic search, and calibration of rejection by refits, of a model of these data.
json search_and_calibrate(const DataSource& source, const Settings& settings, const Workspace& work) {
  std::vector<double> calibrate, search;
  train_by_command(source, settings, work, {}, {});
  for (int sample = 0; sample < (settings.quick ? 1 : 3); ++sample)
    calibrate.push_back(
        run_command(source, settings, work, {},
                    {"calibrate", "--model", work / "model.safetensors", "--out", work / "calibrated.safetensors"})
            .seconds);
  if (!settings.quick) search.push_back(train_by_command(source, settings, work, {}, {"--search", "auto"}).seconds);
  json commands{{"calibrate", calibrate}};
  if (!search.empty()) commands["train --search auto"] = search;
  for (const auto& [command, samples] : commands.items())
    fmt::print("{:<12} {}: {:.2f} s\n", source.name, command, median(samples.get<std::vector<double>>()));
  std::fflush(stdout);
  return commands;
}

}  // namespace

json measure_training(const Settings& settings) {
  const Workspace work;
  json sets = json::array({train_on(cub(settings), settings, work, settings.quick ? 1 : 5)});
  if (!settings.quick) sets.push_back(train_on(awa2_sized(settings, work), settings, work, 3));
  return {{"sets", sets}, {"commands", search_and_calibrate(cub(settings), settings, work)}};
}

}  // namespace bench
