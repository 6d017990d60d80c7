#include "experiments/run_report.hpp"

#include "base/memory_limit.hpp"
#include "eval/score_source.hpp"

namespace parsnets {

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

std::string report_on_runs(const std::vector<RunFolder>& folders, const ReportOptions& options,
                           std::uint64_t memory_limit, ThreadPool& pool, ProgressObserver* progress) {
  std::vector<std::string> parts;
  for (const auto& group : grouped_by_data(folders))
    parts.push_back(part_data(group, options, memory_limit, pool, progress));
  return joined_report_data(parts);
}

}  // namespace parsnets
