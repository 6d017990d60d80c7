#include "report/tsne_affinity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "report/tsne_reference.hpp"

namespace parsnets {

namespace {

using test::dense;
using test::normal_matrix;
using test::squared_distance;

double perplexity_of(std::span<const double> p) {
  double entropy = 0;
  for (const double v : p)
    if (v > 0) entropy -= v * std::log(v);
  return std::exp(entropy);
}

}  // namespace

TEST(TsneAffinity, FindsTheNeighboursThatSortingAllDistancesFinds) {
  ThreadPool pool(2);
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

TEST(TsneAffinity, EveryRowHasTheWantedPerplexity) {
  ThreadPool pool(2);
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

TEST(TsneAffinity, TiesShareWhatThePerplexityCannotSeparate) {
  std::vector<double> p(6);
  calibrate_row(std::vector<double>{2, 2, 2, 2, 2, 2}, 3, p);
  for (const double v : p) EXPECT_NEAR(v, 1.0 / 6, 1e-12);
  calibrate_row(std::vector<double>{0, 0, 0, 0, 1e-12, 9}, 2, p);  // four at the same place, perplexity 2
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(p[j], 0.25, 1e-9);
  EXPECT_NEAR(p[4] + p[5], 0, 1e-9);
}

TEST(TsneAffinity, MatrixIsTheSymmetricMeanOfTheRows) {
  ThreadPool pool(2);
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

}  // namespace parsnets
