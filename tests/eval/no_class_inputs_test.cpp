#include "eval/no_class_inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kRows = 300, kColumns = 5;

/// Feature j of sample i is about 10·j; each sample is a line of its own, so that samples are recognised.
Matrix<float> features() {
  Matrix<float> x(kRows, kColumns);
  Rng rng(4);
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kColumns; ++j) x(i, j) = static_cast<float>(10 * static_cast<double>(j) + rng.normal());
  return x;
}

std::vector<std::int32_t> all_rows() {
  std::vector<std::int32_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::map<std::string, Matrix<float>, std::less<>> made(const Matrix<float>& x, const std::vector<std::int32_t>& rows,
                                                       std::size_t count, std::uint64_t seed = 1) {
  std::map<std::string, Matrix<float>, std::less<>> kinds;
  visit_no_class_inputs(x, rows, count, seed,
                        [&](std::string_view name, std::string_view, MatrixView<const float> inputs) {
                          kinds.emplace(name, Matrix<float>::copy_of(inputs));
                        });
  return kinds;
}

double mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sd(std::span<const float> values) {
  const double m = mean(values);
  double sum = 0;
  for (const float v : values) sum += (v - m) * (v - m);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

std::vector<float> column(const Matrix<float>& x, std::size_t j) {
  std::vector<float> values;
  for (std::size_t i = 0; i < x.rows(); ++i) values.push_back(x(i, j));
  std::ranges::sort(values);
  return values;
}

}  // namespace

TEST(NoClassInputs, NoiseHasTheRangeOrTheMomentsOfTheFeatures) {
  const Matrix<float> x = features();
  const auto kinds = made(x, all_rows(), 2000);
  const auto [least, largest] = std::ranges::minmax(x.values());
  const auto& uniform = kinds.at("uniform");
  ASSERT_EQ(uniform.rows(), 2000u);
  ASSERT_EQ(uniform.cols(), kColumns);
  const auto [low, high] = std::ranges::minmax(uniform.values());
  EXPECT_GE(low, least);
  EXPECT_LE(high, largest);
  EXPECT_LT(low, least + 0.1f);
  EXPECT_GT(high, largest - 0.1f);
  EXPECT_NEAR(mean(uniform.values()), (least + largest) / 2, 1);
  const auto& gaussian = kinds.at("gaussian");
  EXPECT_NEAR(mean(gaussian.values()), mean(x.values()), 0.6);
  EXPECT_NEAR(sd(gaussian.values()), sd(x.values()), 0.4);
}

TEST(NoClassInputs, ShuffledOnesHaveTheFeaturesOfTheSamplesAndNoSample) {
  const Matrix<float> x = features();
  const auto kinds = made(x, all_rows(), kRows);
  const auto& shuffled = kinds.at("shuffled");
  for (std::size_t j = 0; j < kColumns; ++j) EXPECT_EQ(column(shuffled, j), column(x, j));
  std::size_t samples = 0;
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t r = 0; r < kRows; ++r) samples += std::ranges::equal(shuffled.row(i), x.row(r));
  EXPECT_EQ(samples, 0u);
}

TEST(NoClassInputs, MovedOnesAreFactorsAndOffsetsAwayFromSamples) {
  Matrix<float> x(1, 400);
  Rng rng(5);
  for (float& v : x.values()) v = static_cast<float>(1 + rng.uniform());
  const std::vector<std::int32_t> rows{0};
  const auto kinds = made(x, rows, 3);  // the one sample three times
  const auto& scaled = kinds.at("scaled");
  const auto& far = kinds.at("far");
  ASSERT_EQ(scaled.rows(), 3u);
  double least = 1, most = 1;
  for (std::size_t j = 0; j < x.cols(); ++j) {
    const double factor = scaled(1, j) / x(0, j);
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_GE(least, 0.0999);
  EXPECT_LT(least, 0.12);
  EXPECT_LE(most, 10.001);
  EXPECT_GT(most, 8);
  std::vector<float> moved;
  for (std::size_t j = 0; j < x.cols(); ++j) moved.push_back(far(2, j) - x(0, j));
  EXPECT_NEAR(sd(moved), 10 * sd(x.values()), sd(x.values()));
  EXPECT_FALSE(std::ranges::equal(far.row(0), far.row(1)));
}

TEST(NoClassInputs, ConstantsGoUpToTheLargestFeature) {
  const Matrix<float> x = features();
  const auto kinds = made(x, all_rows(), 10);
  const auto& constant = kinds.at("constant");
  EXPECT_EQ(constant.rows(), 9u);
  for (std::size_t i = 0; i < constant.rows(); ++i)
    for (const float v : constant.row(i)) EXPECT_EQ(v, constant(i, 0));
  EXPECT_FLOAT_EQ(constant(8, 0), std::ranges::max(x.values()));
  EXPECT_GT(constant(0, 0), std::ranges::min(x.values()));
  EXPECT_EQ(kinds.at("zero").rows(), 1u);
  for (const float v : kinds.at("zero").values()) EXPECT_EQ(v, 0);
}

TEST(NoClassInputs, DependOnTheSeedAndOnTheGivenRowsAlone) {
  Matrix<float> x = features();
  const std::vector<std::int32_t> some{3, 4, 5, 90, 91, 200};
  const auto a = made(x, some, 8), other = made(x, some, 8, 2);
  for (std::size_t i = 0; i < kRows; ++i)
    if (std::ranges::find(some, static_cast<std::int32_t>(i)) == some.end()) std::ranges::fill(x.row(i), 1e6f);
  const auto b = made(x, some, 8);
  for (const auto& [name, inputs] : a) EXPECT_TRUE(std::ranges::equal(inputs.values(), b.at(name).values())) << name;
  for (const char* name : {"uniform", "gaussian", "shuffled", "scaled", "far"})
    EXPECT_FALSE(std::ranges::equal(a.at(name).values(), other.at(name).values())) << name;
}

TEST(NoClassInputs, StayFiniteForTheLargestFeatures) {
  Matrix<float> x(2, 3, std::numeric_limits<float>::max());
  x(1, 1) = std::numeric_limits<float>::lowest();
  const std::vector<std::int32_t> rows{0, 1};
  for (const auto& [name, inputs] : made(x, rows, 50))
    for (const float v : inputs.values()) EXPECT_TRUE(std::isfinite(v)) << name;
}

}  // namespace parsnets
