#include "train/fit_statistics.hpp"

#include <cmath>

#include "solvers/class_space.hpp"
#include "train/fit_parsnets.hpp"
#include "train/place_classes.hpp"

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

}  // namespace

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

Model fit_statistics(const Statistics& statistics, const Dataset& data, const ParsNetsOptions& o, ThreadPool& pool) {
  Model model;
  model.dimensions = statistics.dimensions();
  model.feature_preprocess = feature_preprocess_of(statistics, o.feature_scaling);
  const ClassSpace space(statistics, pool, model.feature_preprocess.factor);
  ClassMap map = space.solve(o.shrinkage, pool);

  model.targets = Targets::classes;
  model.similarity = Similarity::cosine;
  model.attribute_names = data.semantics.attribute_names;
  model.classes.names = data.class_names;
  model.classes.semantics = Matrix<float>::copy_of(data.semantics.values.view());
  model.classes.seen.assign(data.classes(), 0);
  for (const auto c : space.classes()) model.classes.seen[static_cast<std::size_t>(c)] = 1;
  std::vector<float> bias(map.weights.cols(), 0.0f);
  set_linear_map(model, {std::move(map.weights), std::move(bias)});
  const ClassMeans means{space.classes(), space.weights(), std::move(map.means)};
  model.semantic_preprocess = fit_place_semantics(o, data.semantics, means);
  place_classes(model, means, o);
  fit_attribute_head(model, means);
  return model;
}

}  // namespace parsnets
