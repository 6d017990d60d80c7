#include "experiments/run_folder.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "base/machine.hpp"
#include "data/load_options.hpp"
#include "data/sample_files.hpp"
#include "eval/scoring.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"

namespace parsnets {

std::filesystem::path run_json_file(const std::filesystem::path& folder) { return folder / "run.json"; }

void write_run_json(const std::filesystem::path& folder, const std::string& data, const LoadOptions& load,
                    const std::string& command, const TrainRun& run) {
  const MachineInfo machine = machine_info();
  LoadOptions copy = with_absolute_paths(load, data);
  OptionTable table;
  add_load_options(table, copy);
  const nlohmann::ordered_json json{
      {"command", command},
      {"data", std::filesystem::absolute(data).lexically_normal().string()},
      {"load", table.to_json()},
      {"seed", load.seed},
      {"seconds", run.seconds},
      {"peak_memory_bytes", run.peak_memory},
      {"svr_seconds", run.svr_seconds},
      {"version", PARSNETS_VERSION},
      {"machine",
       {{"cpu", machine.cpu}, {"simd", machine.simd}, {"cores", machine.cores}, {"memory", machine.memory}}}};
  write_text_file(run_json_file(folder), json.dump(1) + "\n");
}

RunFolder read_run_folder(const std::filesystem::path& folder) {
  RunFolder run;
  run.model = folder / "model.safetensors";
  if (!std::filesystem::is_regular_file(run.model))
    throw Error(BadInput{folder.string(), "model.safetensors", "a run folder with a model", "none",
                         "train one with " + option_name("run")});
  run.name = std::filesystem::absolute(folder).lexically_normal().filename().string();
  if (run.name.empty())
    run.name = std::filesystem::absolute(folder).lexically_normal().parent_path().filename().string();
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    if (file.filename() != "run.json") {
      run.benches.push_back({file.string(), read_text_file(file)});
      continue;
    }
    run.run_json = read_text_file(file);
    const nlohmann::json recorded = parse_json(run.run_json, file.string());
    if (!recorded.is_object() || !recorded.contains("data") || !recorded["data"].is_string())
      throw Error(BadInput{file.string(), "data", "the data set's folder", "none", "train the run again"});
    run.data = recorded["data"].get<std::string>();
    OptionTable table;
    add_load_options(table, run.load);
    if (recorded.contains("load")) table.from_json(recorded["load"], file.string());
    if (recorded.contains("seed") && recorded["seed"].is_number_unsigned()) run.load.seed = recorded["seed"];
  }
  return run;
}

std::vector<RunGroup> grouped_by_data(const std::vector<RunFolder>& folders) {
  std::vector<RunGroup> groups;
  std::vector<std::string> keys;
  for (const auto& folder : folders) {
    if (folder.data.empty())
      throw Error(ErrorCode::usage, "report: expected " + option_name("data") + ", since the run '" + folder.name +
                                        "' does not say what it was trained on");
    LoadOptions load = folder.load;
    OptionTable table;
    add_load_options(table, load);
    const std::string key = std::filesystem::weakly_canonical(folder.data).string() + table.to_json().dump();
    const auto place = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (place == keys.size()) {
      keys.push_back(key);
      groups.push_back({folder.data, folder.load, {}});
    }
    groups[place].runs.push_back(folder);
  }
  for (auto& group : groups) {
    std::map<std::string, int> runs_of_name;
    for (const auto& run : group.runs) ++runs_of_name[run.name];
    for (auto& run : group.runs)  // names tell runs apart
      if (runs_of_name[run.name] > 1)
        run.name = std::filesystem::absolute(run.model).lexically_normal().parent_path().string();
  }
  return groups;
}

namespace {

/// How many test samples the figures may use. Throws usage when they are too few to show anything.
std::size_t samples_within(std::uint64_t limit, const Dataset& data, const ReportOptions& options) {
  constexpr double kFewest = 500;
  const auto all = static_cast<double>(data.split.test_unseen.size() + data.split.test_seen.size()),
             classes = static_cast<double>(data.classes()), dimensions = static_cast<double>(data.features.cols()),
             attributes = static_cast<double>(data.semantics.values.cols());
  // Features raw, prepared, encoded and copied; scores; predictions of classes and attributes.
  const double each = 4 * (6 * dimensions + 3 * classes + 4 * attributes),
               other = 8 * classes * classes + 100 * all + 2000 * static_cast<double>(options.points) +
                       scoring_bytes(data.classes(), data.semantics.values.cols(), data.features.cols(), kScoredRows);
  require_memory(limit, other + each * std::min(all, kFewest), "the report", "raise the limit");
  const double room = static_cast<double>(limit) - static_cast<double>(held_memory()) - other;
  return static_cast<std::size_t>(std::min(all, std::max(kFewest, room / each)));
}

/// The runs on one data set. Nothing of the data set stays in memory.
std::string part_data(const RunGroup& group, const ReportOptions& options, std::uint64_t memory_limit, ThreadPool& pool,
                      ProgressObserver* progress) {
  LoadOptions load = group.load;
  load.memory_limit = memory_limit;
  const Dataset data = load_dataset(group.data, load, progress);
  std::vector<Model> models;
  models.reserve(group.runs.size());
  for (const auto& run : group.runs) models.push_back(load_model(run.model));
  std::vector<ReportRun> runs;
  for (std::size_t i = 0; i < models.size(); ++i)
    runs.push_back({group.runs[i].name, &models[i], &data, group.runs[i].run_json, group.runs[i].benches});
  ReportOptions limited = options;
  limited.memory_limit = memory_limit;
  if (memory_limit > 0) limited.samples = samples_within(memory_limit, data, options);
  return report_data(runs, read_thumbnails(group.data, data.samples()), limited, pool, progress);
}

}  // namespace

std::string report_on_runs(const std::vector<RunFolder>& folders, const ReportOptions& options,
                           std::uint64_t memory_limit, ThreadPool& pool, ProgressObserver* progress) {
  std::vector<std::string> parts;
  for (const auto& group : grouped_by_data(folders))
    parts.push_back(part_data(group, options, memory_limit, pool, progress));
  return joined_report_data(parts);
}

}  // namespace parsnets
