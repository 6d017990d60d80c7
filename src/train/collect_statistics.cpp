// From a data set folder to its statistics, in one pass over the features.

#include <algorithm>

#include "base/machine.hpp"
#include "base/scratch_file.hpp"
#include "data/sample_files.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "train/train_statistics.hpp"

namespace parsnets {

namespace {

std::size_t block_rows(std::size_t dimensions) {
  constexpr std::size_t kBytes = 32u << 20, kFewest = 1024, kMost = 65536;
  return std::clamp(kBytes / (4 * dimensions), kFewest, kMost);
}

void check_memory(std::uint64_t limit, const StatisticsOptions& options, std::size_t classes, std::size_t dimensions) {
  const auto d = static_cast<double>(dimensions), c = static_cast<double>(classes);
  const double sums = 8 * d * d * static_cast<double>(options.groups) + 8 * c * d,
               kept = 4 * c * d * static_cast<double>(options.kept_rows),
               work = 4 * d * d + 8 * d * static_cast<double>(block_rows(dimensions)) + 4 * 1024 * d;
  require_memory(limit, sums + kept + work, "statistics", "raise the limit or use fewer features");
}

}  // namespace

Statistics collect_statistics(const std::filesystem::path& folder, const LoadOptions& load,
                              const StatisticsOptions& options, ThreadPool& pool, ProgressObserver* progress,
                              std::uint64_t memory_limit) {
  LoadOptions without_features = load;
  without_features.read_features = false;
  Dataset data = load_dataset(folder, without_features);
  const auto stream = open_feature_rows(data);
  if (stream == nullptr) data = load_dataset(folder, load, progress);
  if (data.split.trainval.empty())
    throw Error(BadInput{data.name, "split", "training samples", "none", "check the split"});
  const std::size_t dimensions = stream ? stream->cols() : data.features.cols();
  check_memory(memory_limit, options, data.classes(), dimensions);

  std::vector<char> wanted(data.samples(), 0);
  for (const auto r : data.split.trainval) wanted[static_cast<std::size_t>(r)] = 1;
  Statistics sums(options, data.class_names, dimensions);
  sums.set_source(data.source);
  bool negative = false;
  for (std::size_t first = 0; first < data.samples();) {
    report(progress, {"statistics", first, data.samples(), "samples"});
    const std::size_t count = std::min(block_rows(dimensions), data.samples() - first);
    const Matrix<float> read = stream ? stream->next(count) : Matrix<float>();
    const MatrixView<const float> block =
        stream ? read.view() : MatrixView<const float>(data.features.row(first).data(), count, dimensions);
    std::vector<std::int32_t> rows;
    for (std::size_t r = 0; r < count; ++r)
      if (wanted[first + r]) rows.push_back(static_cast<std::int32_t>(r));
    check_finite_rows(block, rows, features_source(data), first);
    for (const auto r : rows)
      negative = negative || std::ranges::any_of(block.row(static_cast<std::size_t>(r)), [](float v) { return v < 0; });
    sums.add(block, std::span(data.labels).subspan(first, count), rows, pool);
    release_rows(data.features, first, count);
    first += count;
  }
  if (negative && options.scaling == FeatureScaling::sqrt_l2)
    report_message(progress, "some features are negative: " + neutral_option("feature-scaling", "l2") +
                                 " usually suits them better");
  return sums;
}

}  // namespace parsnets
