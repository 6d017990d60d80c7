#include "report/geometry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "report/tsne_reference.hpp"

namespace parsnets {

namespace {

/// The singular values of few rows, falling: square roots of the eigenvalues of their products, by Jacobi's rotations.
std::vector<double> singular_values(const Matrix<float>& rows) {
  const std::size_t n = rows.rows();
  Matrix<double> a(n, n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t c = 0; c < rows.cols(); ++c) a(i, j) += static_cast<double>(rows(i, c)) * rows(j, c);
  for (int sweep = 0; sweep < 50; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const double angle = 0.5 * std::atan2(2 * a(p, q), a(p, p) - a(q, q)), c = std::cos(angle), s = std::sin(angle);
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a(p, k), y = a(q, k);
          a(p, k) = c * x + s * y;
          a(q, k) = c * y - s * x;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a(k, p), y = a(k, q);
          a(k, p) = c * x + s * y;
          a(k, q) = c * y - s * x;
        }
      }
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(std::sqrt(std::max(0.0, a(i, i))));
  std::ranges::sort(values, std::greater{});
  return values;
}

TEST(Geometry, TheProfileIsThatOfTheSingularValues) {
  ThreadPool pool(1);
  for (const auto& [n, d] : {std::pair(6u, 9u), std::pair(9u, 6u)}) {
    const Matrix<float> rows = test::normal_matrix<float>(n, d, n);
    const auto expected = singular_values(rows);
    const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
    const auto profile = singular_profile(rows.view(), 8, pool);
    ASSERT_EQ(profile.size(), 8u);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(profile[i], expected[i] / sum, 1e-5);
    EXPECT_EQ(profile[7], 0);
  }
  EXPECT_EQ(singular_profile(Matrix<float>(3, 2, 0.0f).view(), 2, pool), std::vector<double>(2, 0.0));
}

TEST(Geometry, AnglesBetweenClassMeansFallInTheirBins) {
  // Means at 0, 90 and 180 degrees: pairs at 90, 180 and 90.
  Matrix<float> rows(6, 2, 0.0f);
  rows(0, 0) = rows(1, 0) = 1;
  rows(2, 1) = rows(3, 1) = 3;
  rows(4, 0) = rows(5, 0) = -2;
  const std::vector<std::int32_t> labels{7, 7, 1, 1, 4, 4};
  EXPECT_EQ(class_angles(rows.view(), labels, 4), (std::vector<std::size_t>{0, 0, 2, 1}));
}

TEST(Geometry, HubnessAgreesWithBruteForce) {
  ThreadPool pool(2);
  const Matrix<float> rows = test::normal_matrix<float>(300, 12, 8);
  const std::size_t k = 5;
  std::vector<std::size_t> counts(300, 0);
  for (std::size_t i = 0; i < 300; ++i) {
    std::vector<std::pair<double, std::size_t>> others;
    const auto dot = [&](std::size_t a, std::size_t b) {
      return std::inner_product(rows.row(a).begin(), rows.row(a).end(), rows.row(b).begin(), 0.0);
    };
    for (std::size_t j = 0; j < 300; ++j)
      if (i != j) others.emplace_back(-dot(i, j) / std::sqrt(dot(i, i) * dot(j, j)), j);
    std::ranges::sort(others);
    for (std::size_t n = 0; n < k; ++n) ++counts[others[n].second];
  }
  double second = 0, third = 0;
  for (const auto c : counts) {
    const double d = static_cast<double>(c) - static_cast<double>(k);
    second += d * d / 300;
    third += d * d * d / 300;
  }
  const Hubness found = hubness(rows.view(), k, 60, pool);
  EXPECT_NEAR(found.skewness, third / std::pow(second, 1.5), 1e-6);
  std::vector<std::size_t> histogram(60, 0);
  for (const auto c : counts) ++histogram[c];
  EXPECT_EQ(found.histogram, histogram);
}

TEST(Geometry, HubnessOfFewRowsMakesSense) {
  ThreadPool pool(1);
  for (const std::size_t n : {0u, 1u, 2u, 3u}) {
    const Hubness found = hubness(test::normal_matrix<float>(n, 3, 1).view(), 10, 5, pool);
    EXPECT_TRUE(std::isfinite(found.skewness));
    if (n > 1) {
      EXPECT_EQ(std::accumulate(found.histogram.begin(), found.histogram.end(), std::size_t{0}), n);
    }
  }
}

TEST(ClassOrder, FindsTheOrderOfClassesOnAnArc) {
  constexpr std::size_t kClasses = 40;
  std::vector<std::size_t> place(kClasses), found;
  std::iota(place.begin(), place.end(), std::size_t{0});
  Rng(3).shuffle(place);
  Matrix<float> vectors(kClasses, 2);  // neighbours on the arc are most alike
  for (std::size_t i = 0; i < kClasses; ++i) {
    const double angle = 2.5 * static_cast<double>(place[i]) / kClasses;
    vectors(i, 0) = static_cast<float>(std::cos(angle));
    vectors(i, 1) = static_cast<float>(std::sin(angle));
  }
  for (const auto c : class_order(vectors.view())) found.push_back(place[c]);
  if (found.front() > found.back()) std::ranges::reverse(found);
  EXPECT_TRUE(std::ranges::is_sorted(found));
}

TEST(ClassOrder, IsAPermutationForAnyNumberOfClasses) {
  for (const std::size_t n : {1u, 2u, 3u, 17u, 120u}) {
    const Matrix<float> vectors = n == 17 ? Matrix<float>(n, 5, 0.0f) : test::normal_matrix<float>(n, 5, 4);
    auto order = class_order(vectors.view());
    std::ranges::sort(order);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  }
}

}  // namespace

}  // namespace parsnets
