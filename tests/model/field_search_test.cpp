#include "model/field_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

constexpr std::size_t kSeen = 14, kMoving = 6, kOutputs = 12, kSemantics = 9;

void to_unit(std::span<float> v) {
  double square = 0;
  for (const float x : v) square += static_cast<double>(x) * x;
  for (float& x : v) x = static_cast<float>(x / std::sqrt(square));
}

/// Classes whose places follow from their semantics up to a part of each.
struct Problem {
  Matrix<float> samples;
  std::vector<std::size_t> labels;  ///< seen classes first
  PlaceMap map;
  Staying staying;
  Experience none;

  explicit Problem(std::size_t classes_present = kMoving, std::size_t per_class = 40, double open = 0.5) {
    Rng rng(3);
    Matrix<float> semantics(kSeen + kMoving, kSemantics), places(kSeen + kMoving, kOutputs),
        direction(kSemantics, kOutputs);
    for (float& v : direction.values()) v = static_cast<float>(rng.normal());
    for (std::size_t c = 0; c < semantics.rows(); ++c) {
      for (float& v : semantics.row(c)) v = static_cast<float>(rng.normal());
      to_unit(semantics.row(c));
      for (std::size_t j = 0; j < kOutputs; ++j) {
        double sum = open * rng.normal();
        for (std::size_t i = 0; i < kSemantics; ++i) sum += semantics(c, i) * direction(i, j);
        places(c, j) = static_cast<float>(sum);
      }
      to_unit(places.row(c));
    }
    const auto part = [](const Matrix<float>& from, std::size_t first, std::size_t count) {
      return Matrix<float>::copy_of({from.row(first).data(), count, from.cols()});
    };
    map = {part(semantics, 0, kSeen), part(semantics, kSeen, kMoving), part(places, 0, kSeen), 1.2, 0.3};
    staying = {part(places, 0, kSeen), std::vector<std::uint8_t>(kSeen, 1)};
    const std::size_t seen_each = per_class / 4, n = kSeen * seen_each + classes_present * per_class;
    samples = Matrix<float>(n, kOutputs);
    std::size_t row = 0;
    for (std::size_t c = 0; c < kSeen + classes_present; ++c)
      for (std::size_t s = 0; s < (c < kSeen ? seen_each : per_class); ++s, ++row) {
        for (std::size_t j = 0; j < kOutputs; ++j)
          samples(row, j) = static_cast<float>(places(c, j) + 0.12 * rng.normal());
        to_unit(samples.row(row));
        labels.push_back(c);
      }
  }

  double accuracy(const Matrix<float>& vectors) const {
    double right = 0, count = 0;
    for (std::size_t i = 0; i < samples.rows(); ++i) {
      if (labels[i] < kSeen) continue;
      std::size_t best = 0;
      for (std::size_t c = 1; c < vectors.rows(); ++c)
        if (dot(samples.row(i), vectors.row(c)) > dot(samples.row(i), vectors.row(best))) best = c;
      right += best + kSeen == labels[i] ? 1 : 0;
      ++count;
    }
    return 100 * right / count;
  }
  FieldSearch search(ThreadPool& pool) const { return {samples, map, none, staying, 40, pool}; }
};

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const Matrix<float>& m) {
  Rows rows;
  for (std::size_t r = 0; r < m.rows(); ++r) rows.emplace_back(m.row(r).begin(), m.row(r).end());
  return rows;
}

double product_of(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

void to_unit(Rows& rows) {
  for (auto& row : rows) {
    const double length = std::sqrt(product_of(row, row));
    for (double& v : row) v /= length;
  }
}

/// Solves by Gauss-Jordan elimination.
Rows solved(Rows a, Rows b) {
  const std::size_t n = a.size();
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t r = 0; r < n; ++r) {
      if (r == p) continue;
      const double factor = a[r][p] / a[p][p];
      for (std::size_t j = 0; j < n; ++j) a[r][j] -= factor * a[p][j];
      for (std::size_t j = 0; j < b[r].size(); ++j) b[r][j] -= factor * b[p][j];
    }
  for (std::size_t r = 0; r < n; ++r)
    for (double& v : b[r]) v /= a[r][r];
  return b;
}

double kernel_of(const std::vector<double>& a, const std::vector<double>& b, double width) {
  return width > 0 ? std::exp((product_of(a, b) - 1) / (width * width)) : product_of(a, b);
}

/// The search as its definition says, in double, with one regression over all classes in each round. Starts whose
/// spectrum is flattened are left to the caller: `seen` and `moving` are what the kernel compares.
struct SlowSearch {
  const Problem& problem;
  Rows x = rows_of(problem.samples), stay = rows_of(problem.staying.vectors), means = rows_of(problem.map.means);
  std::vector<double> support = {}, squares = {};
  double likelihood = 0, agreement = 0;

  void expect(const Rows& q, Rows& m) {
    support.assign(kMoving, 0.0);
    squares = support;
    likelihood = 0;
    m.assign(kMoving, std::vector<double>(kOutputs, 0.0));
    for (const auto& sample : x) {
      std::vector<double> e;
      double sum = 0;
      for (const auto& place : q) e.push_back(std::exp(40 * product_of(sample, place)));
      for (const double v : e) sum += v;
      for (const auto& place : stay) sum += std::exp(40 * (product_of(sample, place) - 0.05));
      likelihood += std::log(sum);
      for (std::size_t c = 0; c < kMoving; ++c) {
        support[c] += e[c] / sum;
        squares[c] += e[c] / sum * e[c] / sum;
        for (std::size_t j = 0; j < kOutputs; ++j) m[c][j] += e[c] / sum * sample[j];
      }
    }
    to_unit(m);
  }

  /// Regression over seen classes and, with noise by their evidence, the moving ones.
  Rows predicted(const Rows& seen, const Rows& moving, double width, double ridge, const Rows& m,
                 const std::vector<double>& weight) const {
    Rows all = seen, targets = means;
    if (!weight.empty()) all.insert(all.end(), moving.begin(), moving.end());
    if (!weight.empty()) targets.insert(targets.end(), m.begin(), m.end());
    Rows kernel(all.size(), std::vector<double>(all.size()));
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = 0; b < all.size(); ++b)
        kernel[a][b] =
            kernel_of(all[a], all[b], width) + (a != b            ? 0
                                                : a < seen.size() ? ridge
                                                                  : ridge * (1 + 1 / weight[a - seen.size()]));
    const Rows alpha = solved(kernel, targets);
    Rows f(kMoving, std::vector<double>(kOutputs, 0.0));
    for (std::size_t c = 0; c < kMoving; ++c)
      for (std::size_t a = 0; a < all.size(); ++a)
        for (std::size_t j = 0; j < kOutputs; ++j) f[c][j] += kernel_of(moving[c], all[a], width) * alpha[a][j];
    return f;
  }

  Rows refit(const Rows& seen, const Rows& moving, double width, double ridge, const Rows& m,
             const std::vector<double>& weight) {
    Rows f = predicted(seen, moving, width, ridge, m, weight);
    to_unit(f);
    Rows q = f;
    for (std::size_t c = 0; c < kMoving; ++c)
      for (std::size_t j = 0; j < kOutputs; ++j) q[c][j] += weight[c] * m[c][j];
    to_unit(q);
    agreement = 0;
    for (std::size_t c = 0; c < kMoving; ++c) agreement += product_of(q[c], f[c]);
    return q;
  }
};

/// Seen and moving semantics with a flatter spectrum: by power iteration with deflation over the seen ones.
std::pair<Rows, Rows> flattened(Rows seen, Rows moving, double flatter) {
  if (flatter == 0) return {seen, moving};
  std::vector<std::vector<double>> axes;
  std::vector<double> lengths;
  Rows left = seen;
  for (std::size_t a = 0; a < kSemantics; ++a) {
    std::vector<double> v(kSemantics);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = 1 + 0.1 * static_cast<double>((j * 7 + a * 3) % 5);
    double square = 0;
    for (int i = 0; i < 20000; ++i) {
      std::vector<double> next(kSemantics, 0.0);
      for (const auto& row : left) {
        const double along = product_of(row, v);
        for (std::size_t j = 0; j < next.size(); ++j) next[j] += along * row[j];
      }
      square = std::sqrt(product_of(next, next));
      for (double& value : next) value /= square;
      v = next;
    }
    for (auto& row : left) {
      const double along = product_of(row, v);
      for (std::size_t j = 0; j < v.size(); ++j) row[j] -= along * v[j];
    }
    axes.push_back(v);
    lengths.push_back(square);
  }
  for (Rows* rows : {&seen, &moving}) {
    for (auto& row : *rows) {
      std::vector<double> along;
      for (std::size_t a = 0; a < axes.size(); ++a)
        along.push_back(product_of(row, axes[a]) * std::pow(lengths[a] / lengths[0] + 1e-3, -flatter / 2));
      row = along;
    }
    to_unit(*rows);
  }
  return {seen, moving};
}

TEST(FieldSearch, IsTheSearchOfItsDefinition) {
  const Problem problem;
  ThreadPool pool(2);
  const Rows seen = rows_of(problem.map.seen), moving = rows_of(problem.map.moving);
  const double starts[][3] = {{0, 1.2, 0.3},  {0.35, 1.2, 0.3}, {-0.35, 1.2, 0.3}, {0, 0, 0.3},
                              {0.35, 0, 0.3}, {0, 0.7, 0.3},    {0, 1.2, 1},       {0.35, 0.7, 0.1}};
  SlowSearch slow{problem};
  Rows best, m;
  double highest = 0;
  for (const auto& [flatter, width, ridge] : starts) {
    const auto [own_seen, own_moving] = flattened(seen, moving, flatter);
    Rows q = slow.predicted(own_seen, own_moving, width, ridge, {}, {});
    to_unit(q);
    for (int round = 0; round < 8; ++round) {
      slow.expect(q, m);
      std::vector<double> weight;
      for (const double n : slow.support) weight.push_back(n / 20);
      q = round < 4 ? slow.refit(own_seen, own_moving, width, ridge, m, weight)
                    : slow.refit(seen, moving, 1.2, 0.3, m, weight);
    }
    slow.expect(q, m);
    const double objective = slow.likelihood + 40 * 20 * slow.agreement;
    if (!best.empty() && objective <= highest) continue;
    highest = objective;
    best = q;
  }
  // The distance of each mean from what the other classes predict, by leaving it out.
  double cosines = 0;
  for (std::size_t s = 0; s < kSeen; ++s) {
    SlowSearch others{problem};
    Rows rest = seen;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(s));
    others.means.erase(others.means.begin() + static_cast<std::ptrdiff_t>(s));
    Rows f = others.predicted(rest, Rows(kMoving, seen[s]), 1.2, 0.3, {}, {});
    to_unit(f);
    cosines += product_of(f[0], slow.means[s]) / kSeen;
  }
  const double distance = 2 - 2 * cosines;
  for (int round = 0; round < 2; ++round) {
    slow.expect(best, m);
    std::vector<double> sorted = slow.support, weight;
    std::ranges::sort(sorted);
    const double usual = (sorted[2] + sorted[3]) / 2;  // of six
    for (std::size_t c = 0; c < kMoving; ++c) {
      const double n = slow.support[c], purity = slow.squares[c] / n, size = n / usual;
      weight.push_back(n * purity * purity * distance * distance / 20 * 2 * size * size / (1 + size * size));
    }
    best = slow.refit(seen, moving, 1.2, 0.3, m, weight);
  }
  const Found found = problem.search(pool).end(20, pool);
  for (std::size_t c = 0; c < kMoving; ++c)
    for (std::size_t j = 0; j < kOutputs; ++j) ASSERT_NEAR(found.vectors(c, j), best[c][j], 2e-4) << c;
  EXPECT_EQ(found.rounds, 66);
}

TEST(FieldSearch, FindsClassesThatSemanticsMisplace) {
  const Problem problem(kMoving, 40, 0.9);
  ThreadPool pool(1);
  SlowSearch slow{problem};
  Rows first = slow.predicted(rows_of(problem.map.seen), rows_of(problem.map.moving), 1.2, 0.3, {}, {});
  to_unit(first);
  Matrix<float> vectors(kMoving, kOutputs);
  for (std::size_t c = 0; c < kMoving; ++c)
    for (std::size_t j = 0; j < kOutputs; ++j) vectors(c, j) = static_cast<float>(first[c][j]);
  const Found found = problem.search(pool).end(20, pool);
  EXPECT_TRUE(found.evidence.is_enough());
  EXPECT_GT(problem.accuracy(found.vectors), problem.accuracy(vectors) + 5);
  EXPECT_GT(found.likelihood_gain, 0);
}

TEST(FieldSearch, SamplesOfFewClassesAreNotEnough) {
  ThreadPool pool(1);
  EXPECT_TRUE(Problem(6).search(pool).end(20, pool).evidence.is_enough());
  EXPECT_FALSE(Problem(1).search(pool).end(20, pool).evidence.is_enough());
  EXPECT_FALSE(Problem(0).search(pool).end(20, pool).evidence.is_enough()) << "seen classes alone";
  EXPECT_FALSE(Problem(6, 4).search(pool).end(20, pool).evidence.is_enough()) << "four samples a class";
}

TEST(FieldSearch, TheNumberOfThreadsDoesNotMatter) {
  const Problem problem;
  ThreadPool one(1), three(3);
  const Found a = problem.search(one).end(20, one), b = problem.search(three).end(20, three);
  EXPECT_TRUE(std::ranges::equal(a.vectors.values(), b.vectors.values()));
  EXPECT_EQ(a.support, b.support);
}

TEST(FieldSearch, ExamplesCountAsSamplesThatAreSurelyOfTheirClass) {
  Problem problem;
  ThreadPool pool(1);
  problem.none.samples.assign(kMoving, 0.0f);
  problem.none.samples[0] = 7;
  problem.none.sums = Matrix<float>(kMoving, kOutputs, 0.0f);
  const Found without = Problem().search(pool).end(20, pool), with = problem.search(pool).end(20, pool);
  EXPECT_GT(with.support[0], without.support[0] + 5);
}

TEST(FieldSearch, TheMapOfAModelHoldsTheMeansThatItWasFittedOn) {
  const test::TrainedModel trained("parsnets");
  const Model& model = trained.model;
  const auto unseen = trained.data.unseen_classes();
  const PlaceMap map = place_map(model, unseen);
  ASSERT_TRUE(map.can_be_searched());
  std::size_t s = 0;
  for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
    if (model.classes.samples[c] == 0) continue;
    const auto mean = model.classes.means.row(c);
    const double length = std::sqrt(dot(mean, mean));
    for (std::size_t j = 0; j < mean.size(); ++j) ASSERT_NEAR(map.means(s, j), mean[j] / length, 1e-3) << c;
    ++s;
  }
  EXPECT_EQ(s, map.means.rows());
  Model before = shared_copy(model);
  before.prototypes.ridge = 0;
  EXPECT_FALSE(place_map(before, unseen).can_be_searched());
}

}  // namespace
}  // namespace parsnets
