// Which unlabelled samples a person should label (parsnets/field.hpp).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.hpp"
#include "model/field_em.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

namespace {

/// The samples that look like those of one class, and what it has been taught so far.
struct Cluster {
  std::vector<std::size_t> members;  ///< samples, ascending
  std::vector<double> mean, sum;     ///< o: Σ r·x̂/Σ r; Σ x̂ of its examples and of those that are suggested
  std::vector<double> prior;         ///< o: κ·p⁰; zero where it has no description
  double share = 0, examples = 0;    ///< Σ r; how many samples are in `sum`

  double cosine = 0;  ///< between its mean and its prototype as it is taught now

  void compare() {
    double product = 0, square = 0, length = 0;
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const double prototype = prior[j] + sum[j];
      product += prototype * mean[j];
      square += prototype * prototype;
      length += mean[j] * mean[j];
    }
    cosine = product / std::sqrt(std::max(square * length, 1e-300));
  }
};

/// Empty clusters of the unseen classes, or of all where there are none of these; `place` says which class has which.
std::vector<Cluster> clusters_of(const Model& model, std::vector<std::size_t>& place) {
  Model described = shared_copy(model);
  described.classes.taught = {};
  described.classes.adapted = {};
  Matrix<float> vectors = described.class_vectors();
  unit_rows(vectors.view());
  const ClassBank& classes = model.classes;
  const bool all = std::ranges::find(classes.seen, 0) == classes.seen.end();
  std::vector<Cluster> clusters;
  for (std::size_t c = 0; c < classes.names.size(); ++c) {
    place.push_back(classes.seen[c] && !all ? std::numeric_limits<std::size_t>::max() : clusters.size());
    if (classes.seen[c] && !all) continue;
    Cluster& one = clusters.emplace_back();
    one.mean.assign(vectors.cols(), 0);
    one.sum.assign(vectors.cols(), 0);
    for (const float v : vectors.row(c)) one.prior.push_back(model.field.example_prior * v);
    if (classes.taught.samples.empty()) continue;
    one.examples = classes.taught.samples[c];
    std::ranges::copy(classes.taught.sums.row(c), one.sum.begin());
  }
  return clusters;
}

/// The member that brings the mean of the examples nearest to that of the cluster, taken out of it.
std::size_t take_nearest(Cluster& cluster, const Matrix<float>& samples, std::span<const double> scale) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t m = 0; m < cluster.members.size(); ++m) {
    const auto x = samples.row(cluster.members[m]);
    double square = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double mean = (cluster.sum[j] + scale[cluster.members[m]] * x[j]) / (cluster.examples + 1);
      square += (mean - cluster.mean[j]) * (mean - cluster.mean[j]);
    }
    if (square < least) {
      least = square;
      best = m;
    }
  }
  const std::size_t sample = cluster.members[best];
  cluster.members.erase(cluster.members.begin() + static_cast<std::ptrdiff_t>(best));
  const auto x = samples.row(sample);
  for (std::size_t j = 0; j < x.size(); ++j) cluster.sum[j] += scale[sample] * x[j];
  ++cluster.examples;
  return sample;
}

}  // namespace

std::vector<std::size_t> suggest(const Model& model, MatrixView<const float> x, std::size_t count, ThreadPool& pool) {
  check_field_samples(model, x.rows(), "suggestions");
  if (count < 1) throw Error(ErrorCode::usage, "suggestions: expected at least one sample to label");
  Matrix<float> samples = model.predict(x, pool);
  Model adapted = shared_copy(model);
  const auto predicted = [&](std::size_t first, std::size_t rows) {
    return Matrix<float>::copy_of({samples.row(first).data(), rows, samples.cols()});
  };
  adapt_in_batches(adapted, x.rows(), predicted, {}, pool, nullptr);
  std::vector<std::size_t> place;
  std::vector<Cluster> clusters = clusters_of(model, place);
  const Matrix<float> raw = Matrix<float>::copy_of(samples.view());
  centre_rows(model, samples.view());
  const double least = model.field.least_length * std::sqrt(static_cast<double>(samples.cols()));
  std::vector<std::uint8_t> too_short(samples.rows());
  for (std::size_t i = 0; i < samples.rows(); ++i) too_short[i] = dot(samples.row(i), samples.row(i)) < least * least;
  unit_rows(samples.view());
  const std::vector<double> scale = scales(samples);
  const double sharpness = model.field.sharpness;
  Predictor(adapted, pool).compare(raw.view(), pool, [&](std::size_t first, MatrixView<const float> scores) {
    for (std::size_t r = 0; r < scores.rows(); ++r) {
      const std::size_t i = first + r;
      if (too_short[i]) continue;
      const auto score = [&](std::size_t c) { return scores(r, c) - (adapted.classes.seen[c] ? adapted.gamma : 0.0); };
      std::size_t best = 0;
      for (std::size_t c = 1; c < place.size(); ++c)
        if (score(c) > score(best)) best = c;
      double total = 0;
      for (std::size_t c = 0; c < place.size(); ++c) total += std::exp(sharpness * (score(c) - score(best)));
      for (std::size_t c = 0; c < place.size(); ++c) {
        const double weight = std::exp(sharpness * (score(c) - score(best))) / total;
        if (place[c] >= clusters.size() || weight < 1e-3) continue;
        Cluster& cluster = clusters[place[c]];
        cluster.share += weight;
        const auto own = samples.row(i);
        for (std::size_t j = 0; j < own.size(); ++j) cluster.mean[j] += weight * scale[i] * own[j];
      }
      if (place[best] < clusters.size()) clusters[place[best]].members.push_back(i);
    }
  });
  std::erase_if(clusters, [](const Cluster& cluster) { return cluster.members.empty(); });
  for (Cluster& cluster : clusters) {
    for (double& v : cluster.mean) v /= cluster.share;
    cluster.compare();
  }
  std::vector<std::size_t> found;
  while (found.size() < count && !clusters.empty()) {
    const auto next = std::ranges::min_element(
        clusters, {}, [](const Cluster& cluster) { return std::pair(cluster.examples, cluster.cosine); });
    found.push_back(take_nearest(*next, samples, scale));
    if (next->members.empty()) clusters.erase(next);
  }
  return found;
}

}  // namespace parsnets
