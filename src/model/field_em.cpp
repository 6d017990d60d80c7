#include "model/field_em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponentials.hpp"
#include "base/linalg.hpp"

namespace parsnets {

namespace {

constexpr double kStill = 1e-6;          ///< places that move less than this have arrived
constexpr std::size_t kBlockRows = 512;  ///< samples whose scores are in memory at once

/// Calls visit(sample, scores of its row) from several threads.
template <class Visit>
void visit_scores(const Matrix<float>& samples, const Matrix<float>& vectors, ThreadPool& pool, const Visit& visit) {
  const std::size_t n = samples.rows();
  Matrix<float> scores(std::min(kBlockRows, n), vectors.rows());
  for (std::size_t first = 0; first < n; first += kBlockRows) {
    const std::size_t rows = std::min(kBlockRows, n - first);
    const MatrixView<float> block(scores.data(), rows, scores.cols());
    multiply(pool, Trans::no, {samples.row(first).data(), rows, samples.cols()}, Trans::yes, vectors.view(), block);
    pool.parallel_for(rows, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) visit(first + r, block.row(r));
    });
  }
}

/// What the classes that may move are given.
struct Expectation {
  std::vector<double> support;  ///< k: Σ r
  Matrix<double> sums;          ///< k x o: Σ r·x̂
  std::size_t convincing = 0;
  double likelihood = 0;  ///< mean of log Σ exp over all classes
};

Expectation expect(const Pile& pile, const Movable& classes, const Matrix<float>& vectors,
                   const FieldSettings& settings, ThreadPool& pool) {
  const std::size_t n = pile.samples.rows(), k = vectors.rows(), o = vectors.cols();
  std::vector<double> likelihood(n), responsibility(n, 0.0);
  std::vector<std::size_t> assigned(n, k);
  visit_scores(pile.samples, vectors, pool, [&](std::size_t i, std::span<float> scores) {
    double top = -std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t c = 0; c < k; ++c) {
      const double z = settings.sharpness * (scores[c] - classes.penalty[c]);
      scores[c] = static_cast<float>(z);
      if (z > top) {
        top = z;
        best = c;
      }
    }
    const double highest = std::max(top, pile.rest[i]);
    const double sum = std::exp(pile.rest[i] - highest) + exponentials(1, highest, scores);
    likelihood[i] = highest + std::log(sum);
    // θ is at least one half: at most one class is convincing.
    responsibility[i] = std::exp(top - highest) / sum;
    if (responsibility[i] >= settings.certainty) assigned[i] = best;
  });
  Expectation found{std::vector<double>(k, 0.0), Matrix<double>(k, o, 0.0), 0, 0};
  for (std::size_t i = 0; i < n; ++i) {  // in one order, whatever the number of threads
    found.likelihood += likelihood[i] / static_cast<double>(n);
    const std::size_t c = assigned[i];
    if (c == k) continue;
    ++found.convincing;
    found.support[c] += responsibility[i];
    const double weight = responsibility[i] * pile.scale[i];
    const auto x = pile.samples.row(i);
    const auto sum = found.sums.row(c);
    for (std::size_t j = 0; j < o; ++j) sum[j] += weight * x[j];
  }
  return found;
}

/// unit(β·p¹ + S) at the length that p¹ has.
void place(std::span<const float> before, double strength, std::span<const double> sums, std::span<float> out) {
  const double length = std::sqrt(dot(before, before));
  std::vector<double> moved(sums.size());
  double square = 0;
  for (std::size_t j = 0; j < moved.size(); ++j) {
    moved[j] = strength * before[j] / length + sums[j];
    square += moved[j] * moved[j];
  }
  for (std::size_t j = 0; j < moved.size() && square > 0; ++j)
    out[j] = static_cast<float>(moved[j] * length / std::sqrt(square));
}

Matrix<float> placed(const Movable& classes, double strength, const std::vector<double>& samples,
                     const Matrix<double>& sums) {
  Matrix<float> vectors = Matrix<float>::copy_of(classes.vectors.view());
  for (std::size_t c = 0; c < vectors.rows(); ++c)
    if (samples[c] > 0) place(classes.vectors.row(c), strength, sums.row(c), vectors.row(c));
  return vectors;
}

}  // namespace

void unit_rows(MatrixView<float> rows) {
  for (std::size_t r = 0; r < rows.rows(); ++r)
    if (const double length = std::sqrt(dot(rows.row(r), rows.row(r))); length > 0)
      for (float& v : rows.row(r)) v = static_cast<float>(v / length);
}

std::vector<double> scales(const Matrix<float>& samples) {
  std::vector<double> scale(samples.rows(), 0.0);
  for (std::size_t i = 0; i < scale.size(); ++i)
    if (const double length = std::sqrt(dot(samples.row(i), samples.row(i))); length > 0) scale[i] = 1 / length;
  return scale;
}

std::vector<double> rest_of(const Matrix<float>& samples, const Matrix<float>& vectors, std::span<const double> penalty,
                            double sharpness, ThreadPool& pool) {
  std::vector<double> rest(samples.rows(), -std::numeric_limits<double>::infinity());
  if (vectors.rows() == 0) return rest;
  visit_scores(samples, vectors, pool, [&](std::size_t i, std::span<float> scores) {
    double top = -std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < scores.size(); ++c) {
      const double z = sharpness * (scores[c] - penalty[c]);
      scores[c] = static_cast<float>(z);
      top = std::max(top, z);
    }
    rest[i] = top + std::log(exponentials(1, top, scores));
  });
  return rest;
}

Moved move_places(const Pile& pile, const Movable& classes, const FieldSettings& settings, int rounds,
                  ThreadPool& pool) {
  const std::size_t k = classes.vectors.rows(), o = classes.vectors.cols();
  const double memory = kMemory * settings.strength;
  Moved now{placed(classes, settings.strength, classes.samples, classes.sums),
            classes.samples,
            Matrix<double>::copy_of(classes.sums.view()),
            std::vector<double>(k, 0.0),
            0,
            0,
            0};
  Expectation found = expect(pile, classes, now.vectors, settings, pool);
  const double likelihood = found.likelihood;
  for (double moved = 1; now.rounds < rounds && moved > kStill; ++now.rounds) {
    now.support = found.support;
    now.convincing = found.convincing;
    for (std::size_t c = 0; c < k; ++c) {
      const bool moves = found.support[c] >= kLeastSupport;
      const double kept = moves ? std::max(0.0, 1 - found.support[c] / memory) : 1,
                   sum = kept * classes.samples[c] + (moves ? found.support[c] : 0),
                   cut = moves && sum > memory ? memory / sum : 1;
      now.samples[c] = cut * sum;
      for (std::size_t j = 0; j < o; ++j)
        now.sums(c, j) = cut * (kept * classes.sums(c, j) + (moves ? found.sums(c, j) : 0));
    }
    Matrix<float> next = placed(classes, settings.strength, now.samples, now.sums);
    moved = 0;
    for (std::size_t i = 0; i < next.size(); ++i)
      moved = std::max(moved, std::abs(static_cast<double>(next.data()[i]) - now.vectors.data()[i]));
    now.vectors = std::move(next);
    found = expect(pile, classes, now.vectors, settings, pool);
  }
  now.likelihood_gain = found.likelihood - likelihood;
  return now;
}

}  // namespace parsnets
