#include "experiments/run_report.hpp"

#include <algorithm>

#include "base/memory_limit.hpp"
#include "eval/score_source.hpp"

namespace parsnets {

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
