#include "report/tsne.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "expect.hpp"
#include "report/tsne_reference.hpp"

namespace parsnets {

namespace {

using namespace test;  // the plain formulas

struct Tsne : testing::Test {
  ThreadPool pool{2};

  void expect_repulsion(const Matrix<double>& y, double theta, double bound) {
    Matrix<double> force(y.rows(), 2);
    const double z = QuadTree(y.view()).repulsion(theta, pool, force.view()), wanted = plain_z(y);
    EXPECT_LT(relative_error(force, plain_repulsion(y)), bound);
    EXPECT_NEAR(z, wanted, bound * wanted);
  }
};
using TsneAffinity = Tsne;
using TsneGradient = Tsne;
using TsneStart = Tsne;
using TsneTree = Tsne;

/// Row i belongs to class i % classes, around one of the means `distance` apart in expectation.
Matrix<float> blobs(std::size_t n, std::size_t d, std::size_t classes, double distance, std::uint64_t seed) {
  const auto means = normal_matrix<double>(classes, d, seed, distance / std::sqrt(2.0 * static_cast<double>(d)));
  auto x = normal_matrix<float>(n, d, seed + 1, 1 / std::sqrt(static_cast<double>(d)));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j) x(i, j) += static_cast<float>(means(i % classes, j));
  return x;
}

bool same_bits(const Matrix<float>& a, const Matrix<float>& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_map_of(const Matrix<float>& y, std::size_t n) {
  ASSERT_EQ(y.rows(), n);
  ASSERT_EQ(y.cols(), 2u);
  double sum[2] = {0, 0}, largest = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < 2; ++c) {
      ASSERT_TRUE(std::isfinite(y(i, c))) << i;
      sum[c] += y(i, c);
      largest = std::max(largest, std::abs(static_cast<double>(y(i, c))));
    }
  EXPECT_LE(std::abs(sum[0]) + std::abs(sum[1]), 1e-5 * largest * static_cast<double>(n));
}

double perplexity_of(std::span<const double> p) {
  double entropy = 0;
  for (const double v : p)
    if (v > 0) entropy -= v * std::log(v);
  return std::exp(entropy);
}

}  // namespace

TEST_F(TsneAffinity, FindsTheNeighboursThatSortingAllDistancesFinds) {
  const auto x = normal_matrix<double>(301, 7, 3);
  const auto found = nearest_neighbours(x.view(), 20, pool);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    std::vector<std::pair<double, std::uint32_t>> all;
    for (std::size_t j = 0; j < x.rows(); ++j)
      if (j != i) all.emplace_back(squared_distance(x.row(i), x.row(j)), static_cast<std::uint32_t>(j));
    std::sort(all.begin(), all.end());
    for (std::size_t c = 0; c < 20; ++c) {
      ASSERT_EQ(found.index(i, c), all[c].second) << i;
      ASSERT_EQ(found.squared_distance(i, c), all[c].first) << i;
    }
  }
}

TEST_F(TsneAffinity, EveryRowHasTheWantedPerplexity) {
  auto x = normal_matrix<double>(200, 5, 3);
  for (std::size_t i = 0; i < 100; ++i)
    for (double& v : x.row(i)) v = 1e-6 * v + 40;  // widths differ by orders of magnitude
  for (const std::size_t k : {90u, 199u}) {
    const auto neighbours = nearest_neighbours(x.view(), k, pool);
    for (const double wanted : {1.5, 5.0, 30.0, 80.0})
      for (std::size_t i = 0; i < x.rows(); ++i) {
        std::vector<double> p(k);
        calibrate_row(neighbours.squared_distance.row(i), wanted, p);
        ASSERT_NEAR(perplexity_of(p), wanted, 1e-4) << i;
        double sum = 0;
        for (const double v : p) sum += v;
        ASSERT_NEAR(sum, 1, 1e-12);
        const auto d = neighbours.squared_distance.row(i);  // p is a Gaussian: log p is linear in the distance
        const double beta = (std::log(p[0]) - std::log(p[4])) / (d[4] - d[0]);
        ASSERT_NEAR(std::log(p[2]), std::log(p[0]) - beta * (d[2] - d[0]), 1e-8 * (1 + beta * d[2])) << i;
      }
  }
}

TEST_F(TsneAffinity, TiesShareWhatThePerplexityCannotSeparate) {
  std::vector<double> p(6);
  calibrate_row(std::vector<double>{2, 2, 2, 2, 2, 2}, 3, p);
  for (const double v : p) EXPECT_NEAR(v, 1.0 / 6, 1e-12);
  calibrate_row(std::vector<double>{0, 0, 0, 0, 1e-12, 9}, 2, p);  // four at the same place, perplexity 2
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(p[j], 0.25, 1e-9);
  EXPECT_NEAR(p[4] + p[5], 0, 1e-9);
}

TEST_F(TsneAffinity, MatrixIsTheSymmetricMeanOfTheRows) {
  const std::size_t n = 150, k = 12;
  const auto neighbours = nearest_neighbours(normal_matrix<double>(n, 3, 4).view(), k, pool);
  const auto p = symmetric_affinities(neighbours, 4, pool);
  Matrix<double> conditional(n, n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row(k);
    calibrate_row(neighbours.squared_distance.row(i), 4, row);
    for (std::size_t c = 0; c < k; ++c) conditional(i, neighbours.index(i, c)) = row[c];
  }
  const auto found = dense(p);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      ASSERT_NEAR(found(i, j), (conditional(i, j) + conditional(j, i)) / (2.0 * n), 1e-15);
      ASSERT_EQ(found(i, j), found(j, i));
      sum += found(i, j);
    }
  EXPECT_NEAR(sum, 1, 1e-12);
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_TRUE(std::is_sorted(p.column.begin() + static_cast<std::ptrdiff_t>(p.start[i]),
                               p.column.begin() + static_cast<std::ptrdiff_t>(p.start[i + 1])));
}

TEST_F(TsneGradient, IsTheSlopeOfTheObjective) {
  const auto p = tsne_affinities(normal_matrix<double>(25, 4, 1).view(), 5, pool);
  const auto all = dense(p);
  auto y = normal_matrix<double>(25, 2, 2);
  Matrix<double> gradient(25, 2);
  tsne_gradient(p, y.view(), 1, 0, pool, gradient.view());
  EXPECT_LT(relative_error(gradient, plain_gradient(all, y, 1)), 1e-12);
  EXPECT_NEAR(tsne_objective(p, y.view(), 0, pool), plain_objective(all, y), 1e-12);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double at = y.data()[i];
    y.data()[i] = at + kStep;
    const double above = plain_objective(all, y);
    y.data()[i] = at - kStep;
    const double below = plain_objective(all, y);
    y.data()[i] = at;
    EXPECT_NEAR(gradient.data()[i], (above - below) / (2 * kStep), 1e-8) << i;
  }
}

TEST_F(TsneGradient, ExaggerationMultipliesAttractionAlone) {
  const auto p = tsne_affinities(normal_matrix<double>(300, 4, 1).view(), 10, pool);
  const auto y = normal_matrix<double>(300, 2, 2);
  Matrix<double> gradient(300, 2);
  tsne_gradient(p, y.view(), 12, 0, pool, gradient.view());
  EXPECT_LT(relative_error(gradient, plain_gradient(dense(p), y, 12)), 1e-12);
}

TEST_F(TsneStart, PrincipalCoordinatesKeepDistancesAndAreUncorrelated) {
  for (const auto& [n, d] : {std::pair<std::size_t, std::size_t>{60, 8}, {8, 60}, {9, 9}, {30, 1}}) {
    const auto x = normal_matrix<float>(n, d, 6);
    const auto r = principal_coordinates(x.view(), 50, pool);
    ASSERT_EQ(r.cols(), std::min(n, d));
    const auto distance = [](const auto& m, std::size_t i, std::size_t j) {
      double sum = 0;
      for (std::size_t c = 0; c < m.cols(); ++c) sum += std::pow(static_cast<double>(m(i, c)) - m(j, c), 2);
      return std::sqrt(sum);
    };
    const double scale = distance(r, 0, 1) / distance(x, 0, 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j)
        ASSERT_NEAR(distance(r, i, j), scale * distance(x, i, j), 1e-6) << n << ' ' << d;  // magnitude 1, as floats
    double last = std::numeric_limits<double>::infinity(), first = 0;
    for (std::size_t a = 0; a < r.cols(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double product = 0;
        for (std::size_t i = 0; i < n; ++i) product += r(i, a) * r(i, b);
        if (a == 0) first = product;
        if (a != b)
          EXPECT_NEAR(product, 0, 1e-5 * first);
        else {
          EXPECT_LE(product, last * (1 + 1e-5) + 1e-12 * first);
          last = product;
        }
      }
  }
}

TEST_F(Tsne, SeparatedClustersStaySeparated) {
  constexpr std::size_t kClasses = 8;
  for (const std::size_t d : {5u, 120u}) {
    const std::size_t n = 600;
    const auto y = tsne(blobs(n, d, kClasses, 8, 11).view(), {}, pool);
    expect_map_of(y, n);
    std::size_t same = 0;
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::pair<double, std::size_t> nearest{std::numeric_limits<double>::infinity(), i};
      for (std::size_t j = 0; j < n; ++j)
        if (j != i) nearest = std::min(nearest, {std::hypot(y(i, 0) - y(j, 0), y(i, 1) - y(j, 1)), j});
      same += nearest.second % kClasses == i % kClasses ? 1u : 0u;
      largest = std::max<double>(largest, std::hypot(y(i, 0), y(i, 1)));
    }
    EXPECT_GT(static_cast<double>(same), 0.95 * n) << d;
    EXPECT_GT(largest, 5) << "the map never left its small start";
  }
}

TEST_F(Tsne, DescendsFarBelowItsStart) {
  const auto x = blobs(400, 10, 5, 4, 3);
  const auto p = tsne_affinities(principal_coordinates(x.view(), 50, pool).view(), 30, pool);
  const auto objective_after = [&](int iterations) {
    TsneOptions options;
    options.iterations = iterations;
    const auto y = tsne(x.view(), options, pool);
    Matrix<double> points(y.rows(), 2);
    std::copy(y.values().begin(), y.values().end(), points.values().begin());
    return tsne_objective(p, points.view(), 0, pool);
  };
  const double start = objective_after(1), end = objective_after(750);
  EXPECT_LT(end, 0.6 * start);
  EXPECT_LT(std::abs(objective_after(1500) - end), 0.1 * end);  // it had all but converged
}

TEST_F(Tsne, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const std::size_t d : {3u, 70u}) {
    const auto x = blobs(700, d, 6, 3, 21);
    TsneOptions options;
    options.iterations = 120;
    ThreadPool one(1), two(2), five(5);
    const auto y = tsne(x.view(), options, one);
    EXPECT_TRUE(same_bits(y, tsne(x.view(), options, two)));
    EXPECT_TRUE(same_bits(y, tsne(x.view(), options, five)));
    EXPECT_TRUE(same_bits(y, tsne(x.view(), options, one)));
    options.seed = 2;
    EXPECT_FALSE(same_bits(y, tsne(x.view(), options, two)));
  }
}

TEST_F(Tsne, DoesNotSeeTheScaleOfTheInput) {
  const auto x = blobs(120, 6, 4, 5, 31);
  TsneOptions options;
  options.iterations = 60;
  const auto y = tsne(x.view(), options, pool);
  for (const double exponent : {-100.0, 100.0}) {  // squares of such floats are 0 or infinite
    auto scaled = Matrix<float>::copy_of(x.view());
    for (float& v : scaled.values()) v = std::ldexp(v, static_cast<int>(exponent));
    EXPECT_TRUE(same_bits(y, tsne(scaled.view(), options, pool))) << exponent;
  }
}

TEST_F(Tsne, TakesFewRows) {
  for (const std::size_t d : {1u, 2u, 80u})
    for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 7u, 20u, 60u}) {
      const auto y = tsne(normal_matrix<float>(n, d, n).view(), {}, pool);
      expect_map_of(y, n);
      std::set<std::pair<float, float>> places;
      for (std::size_t i = 0; i < n; ++i) places.emplace(y(i, 0), y(i, 1));
      EXPECT_EQ(places.size(), n) << n << " rows of " << d;
    }
}

TEST_F(Tsne, PerplexityBeyondTheRowsIsLowered) {
  const auto x = normal_matrix<float>(31, 4, 9);
  TsneOptions large, fitting;
  large.perplexity = 1e6;
  fitting.perplexity = 10;  // a third of the 30 other rows
  EXPECT_TRUE(same_bits(tsne(x.view(), large, pool), tsne(x.view(), fitting, pool)));
}

TEST_F(Tsne, TakesEqualRowsAndExtremeValues) {
  for (const std::size_t n : {1u, 2u, 3u, 10u, 500u}) {
    expect_map_of(tsne(Matrix<float>(n, 3, 0.1f).view(), {}, pool), n);
    expect_map_of(tsne(Matrix<float>(n, 90, -7.3f).view(), {}, pool), n);
    expect_map_of(tsne(Matrix<float>(n, 1, 0.0f).view(), {}, pool), n);
  }
  auto block = normal_matrix<float>(400, 60, 14);  // one row 200 times, more often than it has neighbours
  for (std::size_t i = 1; i < 200; ++i) std::ranges::copy(block.row(0), block.row(i).begin());
  expect_map_of(tsne(block.view(), {}, pool), 400);
  auto x = normal_matrix<float>(50, 3, 15);
  x(7, 1) = std::numeric_limits<float>::max();
  x(8, 1) = std::numeric_limits<float>::lowest();
  x(9, 2) = std::numeric_limits<float>::denorm_min();
  expect_map_of(tsne(x.view(), {}, pool), 50);
  Matrix<float> tiny(40, 2, 0.0f);
  for (std::size_t i = 0; i < 40; ++i) tiny(i, 0) = std::numeric_limits<float>::denorm_min() * static_cast<float>(i);
  expect_map_of(tsne(tiny.view(), {}, pool), 40);
}

TEST_F(Tsne, EqualRowsEndTogether) {
  auto x = normal_matrix<float>(200, 8, 13);
  for (std::size_t i = 0; i < 200; i += 2) std::ranges::copy(x.row(i), x.row(i + 1).begin());
  const auto y = tsne(x.view(), {}, pool);
  expect_map_of(y, 200);
  double apart = 0, extent = 0;
  for (std::size_t i = 0; i < 200; i += 2) {
    apart += std::hypot(y(i, 0) - y(i + 1, 0), y(i, 1) - y(i + 1, 1)) / 100;
    extent += std::hypot(y(i, 0), y(i, 1)) / 100;
  }
  EXPECT_LT(apart, 0.1 * extent);
}

TEST_F(Tsne, RefusesValuesThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (const std::size_t n : {1u, 40u}) {
      auto x = normal_matrix<float>(n, 4, 1);
      x(n - 1, 2) = bad;
      expect_error([&] { tsne(x.view(), {}, pool); }, n == 1 ? "row 0, column 2" : "row 39, column 2");
    }
  expect_error([&] { tsne(MatrixView<const float>(nullptr, 0, 4), {}, pool); });
  expect_error([&] { tsne(MatrixView<const float>(nullptr, 4, 0), {}, pool); });
}

TEST_F(Tsne, ReportsProgressAndCanBeCancelledAtEveryReport) {
  struct Observer : ProgressObserver {
    int stop_at = -1;
    std::vector<std::uint64_t> iterations;
    bool on_progress(const ProgressEvent& event) override {
      EXPECT_LE(event.done, event.total);
      if (event.unit == "iterations") iterations.push_back(event.done);
      return --stop_at != 0;
    }
  };
  const auto x = normal_matrix<float>(100, 3, 1);
  const TsneOptions options{.iterations = 40};
  Observer watching;
  const auto y = tsne(x.view(), options, pool, &watching);
  EXPECT_TRUE(std::is_sorted(watching.iterations.begin(), watching.iterations.end()));
  EXPECT_GE(watching.iterations.size(), 5u);
  EXPECT_EQ(watching.iterations.back(), 40u);
  for (int stop = 1; stop <= 6; ++stop) {
    Observer cancelling;
    cancelling.stop_at = stop;
    expect_error([&] { tsne(x.view(), options, pool, &cancelling); }, "", ErrorCode::cancelled);
  }
  EXPECT_TRUE(same_bits(y, tsne(x.view(), options, pool)));  // the pool serves on
}

namespace {

/// Points as they lie in a finished map: dense clusters far apart, and a few alone.
Matrix<double> clustered_points(std::size_t n) {
  auto y = normal_matrix<double>(n, 2, 5);
  for (std::size_t i = 0; i < n; ++i) {
    y(i, 0) += 12 * std::cos(static_cast<double>(i % 7)) + (i % 50 == 0 ? 30 : 0);
    y(i, 1) += 12 * std::sin(static_cast<double>(i % 7));
  }
  return y;
}

}  // namespace

TEST_F(TsneTree, IsNearWithAnAngleAndNearerWithASmallerOne) {
  const auto y = clustered_points(3000);
  const auto wanted = plain_repulsion(y);
  const double wanted_z = plain_z(y);
  double last = 1;
  for (const auto& [theta, bound] : {std::pair{1.0, 0.1}, std::pair{0.5, 0.02}, std::pair{0.2, 0.003}}) {
    Matrix<double> force(3000, 2);
    const double z = QuadTree(y.view()).repulsion(theta, pool, force.view());
    const double error = relative_error(force, wanted);
    EXPECT_LT(error, bound) << theta;
    EXPECT_GT(error, 0) << theta;  // or nothing was approximated
    EXPECT_LT(error, last) << theta;
    EXPECT_NEAR(z, wanted_z, bound * wanted_z) << theta;
    last = error;
  }
}

TEST_F(TsneTree, IsExactWithoutAnAngleAndTakesCoincidentAndAlmostCoincidentPoints) {
  expect_repulsion(clustered_points(700), 0, 1e-12);
  Matrix<double> y(400, 2, 0.0);
  for (std::size_t i = 0; i < 100; ++i) y(i, 0) = y(i, 1) = 3;
  const double below = std::nextafter(-1.0, 0.0), above = std::nextafter(below, 0.0);  // their middle rounds to above
  for (std::size_t i = 100; i < 200; ++i) {
    y(i, 0) = i % 2 == 0 ? below : above;
    y(i, 1) = 1;
  }
  for (std::size_t i = 200; i < 400; ++i) y(i, 0) = std::ldexp(1.0, -static_cast<int>(5 * (i - 200)));  // to denormals
  expect_repulsion(y, 0, 1e-12);
  expect_repulsion(y, 0.5, 0.02);
}

}  // namespace parsnets
