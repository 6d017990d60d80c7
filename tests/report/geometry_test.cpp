#include "report/geometry.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"

namespace parsnets {
namespace {

Matrix<float> random_rows(std::size_t n, std::size_t d, std::uint64_t seed) {
  Matrix<float> rows(n, d);
  Rng rng(seed);
  for (float& v : rows.values()) v = static_cast<float>(rng.normal());
  return rows;
}

TEST(Geometry, TheProfileIsThatOfTheSingularValues) {
  ThreadPool pool(1);
  for (const auto& [n, d] : {std::pair(6u, 9u), std::pair(9u, 6u)}) {
    const Matrix<float> rows = random_rows(n, d, n);
    const Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> map(rows.data(), n,
                                                                                                      d);
    const Eigen::VectorXf expected = Eigen::BDCSVD<Eigen::MatrixXf>(map).singularValues();
    const auto profile = singular_profile(rows.view(), 8, pool);
    ASSERT_EQ(profile.size(), 8u);
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(profile[static_cast<std::size_t>(i)], expected[i] / expected.sum(), 1e-5);
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
  const Matrix<float> rows = random_rows(300, 12, 8);
  const std::size_t k = 5;
  std::vector<std::size_t> counts(300, 0);
  for (std::size_t i = 0; i < 300; ++i) {
    std::vector<std::pair<double, std::size_t>> others;
    for (std::size_t j = 0; j < 300; ++j) {
      if (i == j) continue;
      double dot = 0, a = 0, b = 0;
      for (std::size_t c = 0; c < 12; ++c) {
        dot += rows(i, c) * rows(j, c);
        a += rows(i, c) * rows(i, c);
        b += rows(j, c) * rows(j, c);
      }
      others.emplace_back(-dot / std::sqrt(a * b), j);
    }
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
    const Hubness found = hubness(random_rows(n, 3, 1).view(), 10, 5, pool);
    EXPECT_TRUE(std::isfinite(found.skewness));
    if (n > 1) {
      EXPECT_EQ(std::accumulate(found.histogram.begin(), found.histogram.end(), std::size_t{0}), n);
    }
  }
}

}  // namespace
}  // namespace parsnets
