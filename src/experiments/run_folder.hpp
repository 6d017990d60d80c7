#pragma once
// A run folder: model.safetensors, run.json (how it was made) and the files of `bench --out` and `eval --out`. `report`
// reads it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/training.hpp"
#include "report/report.hpp"
#include "train/train_run.hpp"

namespace parsnets {

std::filesystem::path run_json_file(const std::filesystem::path& folder);
/// Writes run.json. The data set's path is kept absolute, so that the report finds it.
void write_run_json(const std::filesystem::path& folder, const std::string& data, const LoadOptions& load,
                    const std::string& command, const TrainRun& run);

struct RunFolder {
  std::string name;
  std::filesystem::path model;
  std::string run_json;            ///< run.json; empty: none
  std::vector<BenchFile> benches;  ///< other JSON files
  std::filesystem::path data;      ///< from run.json; empty: unknown
  LoadOptions load;
};
/// Throws bad_input when there is no model in it.
RunFolder read_run_folder(const std::filesystem::path& folder);

/// Runs on the same data set, loaded in the same way.
struct RunGroup {
  std::filesystem::path data;
  LoadOptions load;  ///< that of the first run
  std::vector<RunFolder> runs;
};
/// In the order of the first run of each group. Within a group, runs of the same name are renamed to their paths.
/// Throws usage for a run whose data set is unknown.
std::vector<RunGroup> grouped_by_data(const std::vector<RunFolder>& folders);

// The data of a report page about run folders, on one data set or on several.

/// JSON for report_page(). One data set is in memory at a time. `memory_limit` in bytes, 0: none. Throws usage for runs
/// that do not say what they were trained on and for a limit that does not suffice, else as report_data().
std::string report_on_runs(const std::vector<RunFolder>& folders, const ReportOptions& options,
                           std::uint64_t memory_limit, ThreadPool& pool, ProgressObserver* progress);

}  // namespace parsnets
