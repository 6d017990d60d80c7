// The closed form of class space from statistics alone, and validation problems.

#include <algorithm>
#include <cmath>

#include "data/sample_set.hpp"
#include "train/fitter.hpp"
#include "train/place_classes.hpp"
#include "train/train_statistics.hpp"

namespace parsnets {

namespace {

/// 1/deviation of each feature over all samples. Below the precision of the products a feature counts as constant.
std::vector<float> standardizing_factor(const Statistics& statistics) {
  constexpr double kConstant = 1e-6;
  const double total = statistics.weight();
  std::vector<float> factor;
  for (std::size_t j = 0; j < statistics.dimensions(); ++j) {
    double sum = 0, square = 0;
    for (std::size_t c = 0; c < statistics.class_sums().rows(); ++c) sum += statistics.class_sums()(c, j);
    for (const auto& products : statistics.group_products()) square += products(j, j);
    const double variance = square / total - sum / total * (sum / total);
    factor.push_back(variance > kConstant * square / total ? static_cast<float>(1 / std::sqrt(variance)) : 0.0f);
  }
  return factor;
}

/// How features are prepared for samples with these sums: scaled, centred and, for standardize, divided by their
/// deviation.
FeaturePreprocess feature_preprocess_of(const Statistics& statistics, FeatureScaling scaling) {
  FeaturePreprocess made;
  made.scaling = scaling;
  if (scaling == FeatureScaling::standardize) made.factor = standardizing_factor(statistics);
  std::vector<double> mean(statistics.dimensions(), 0.0);
  const double total = statistics.weight();
  for (std::size_t c = 0; c < statistics.class_sums().rows(); ++c)
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += statistics.class_sums()(c, j) / total;
  made.mean.assign(mean.begin(), mean.end());
  return made;
}

}  // namespace

Model fit_statistics(const Statistics& statistics, const Dataset& data, const ParsNetsOptions& o, ThreadPool& pool) {
  FeaturePreprocess preprocess = feature_preprocess_of(statistics, o.feature_scaling);
  const ClassSpace space(statistics, pool, preprocess.factor);
  ClassMap map = space.solve(o.shrinkage, pool);
  Model model = start_model(data, statistics.dimensions(), space.classes());
  model.feature_preprocess = std::move(preprocess);
  model.targets = Targets::classes;
  std::vector<float> bias(map.weights.cols(), 0.0f);
  set_linear_map(model, {std::move(map.weights), std::move(bias)});
  const ClassMeans means{space.classes(), space.weights(), std::move(map.means)};
  model.semantic_preprocess = fit_place_semantics(o, data.semantics, means);
  place_classes(model, means, o);
  fit_attribute_head(model, means);
  return model;
}

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
