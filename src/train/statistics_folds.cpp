#include "train/statistics_folds.hpp"

#include <algorithm>

#include "data/sample_set.hpp"

namespace parsnets {

std::optional<StatisticsFold> statistics_fold(const Statistics& statistics, std::size_t group, ThreadPool& pool) {
  constexpr double kHeldOut = 0.2;
  const auto& names = statistics.class_names();
  StatisticsFold made;
  std::vector<const KeptRow*> tests;
  std::vector<double> weights;
  const auto take = [&](std::size_t c, const KeptRow& row, std::vector<std::int32_t>& list) {
    list.push_back(static_cast<std::int32_t>(tests.size()));
    tests.push_back(&row);
    made.samples.labels.push_back(static_cast<std::int32_t>(c));
  };
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (statistics.class_weights()[c] <= 0) continue;
    if (Statistics::group_of(names[c], statistics.options().groups) == group) {
      for (const KeptRow& row : statistics.kept_rows()[c]) take(c, row, made.fold.unseen);
      continue;
    }
    made.fold.fit_classes.push_back(static_cast<std::int32_t>(c));
    double left = kHeldOut * statistics.class_weights()[c];
    for (const KeptRow& row : statistics.kept_rows()[c]) {
      if (row.weight > left) break;
      left -= row.weight;
      take(c, row, made.fold.seen);
      weights.push_back(row.weight);
    }
  }
  if (made.fold.unseen.empty() || made.fold.fit_classes.size() < 2) return std::nullopt;
  made.samples.class_names = names;
  made.samples.features = Matrix<float>(tests.size(), statistics.dimensions());
  for (std::size_t r = 0; r < tests.size(); ++r)
    std::ranges::copy(tests[r]->values, made.samples.features.row(r).begin());
  made.fold.held_classes = distinct(labels_of(made.samples, made.fold.unseen));
  made.fit = statistics.without_group(group);
  made.fit.remove(made.samples.features.view(), made.samples.labels, made.fold.seen, pool, weights);
  return made;
}

}  // namespace parsnets
