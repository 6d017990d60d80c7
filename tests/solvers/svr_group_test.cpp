#include "solvers/svr_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "solvers/svr_certificate.hpp"
#include "thread_processes.hpp"

namespace parsnets {
namespace {

Matrix<float> random_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Rng rng(seed);
  Matrix<float> x(rows, cols);
  for (float& v : x.values()) v = static_cast<float>(rng.normal());
  return x;
}

TEST(SvrGroup, TheSmallestFloatIsFoundExactly) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> wanted{-most, -1.5f, -1e-42f, 0.0f, 1e-42f, 0.1f, 3e30f, most};
  const auto found = smallest_float(wanted.size(), [&](std::span<const float> points, std::span<std::uint8_t> result) {
    for (std::size_t j = 0; j < wanted.size(); ++j) result[j] = points[j] >= wanted[j];
  });
  EXPECT_EQ(found, wanted);
}

TEST(SvrGroup, TheBiasOfAllProcessesIsThatOfTheUnionBitForBit) {
  const std::size_t m = 5;
  for (const std::size_t n : {4u, 5u, 300u, 301u})
    for (const float epsilon : {0.0f, 0.2f}) {
      const Matrix<float> r = random_matrix(n, m, n);
      std::vector<float> expected(m), column(n), points(2 * n + 1);
      for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t i = 0; i < n; ++i) column[i] = r(i, j);
        expected[j] = tube_bias(column, epsilon, points);
      }
      for (const std::size_t size : {1u, 2u, 4u})
        run_as_processes(size, [&](Processes& group) {
          ThreadPool pool(1);
          const Share own = group.share(n);
          EXPECT_EQ(group_tube_bias(group, pool, {r.data() + own.first * m, own.count, m}, epsilon, n), expected);
        });
    }
}

TEST(SvrGroup, TheSumBecomesZeroWithinTheBox) {
  const std::size_t n = 200, m = 4;
  const float c = 0.7f;
  for (const float epsilon : {0.0f, 0.3f}) {
    Matrix<float> beta = random_matrix(n, m, 9);
    for (std::size_t i = 0; i < n; ++i) beta(i, 1) += 5;  // all but the shift would stay at C
    std::vector<float> weight(n);
    for (std::size_t i = 0; i < n; ++i) weight[i] = 0.1f + 0.01f * static_cast<float>(i);
    run_as_processes(3, [&](Processes& group) {
      ThreadPool pool(1);
      const Share own = group.share(n);
      shrink_group_to_zero_sum(group, pool, {weight.data() + own.first, own.count}, epsilon, c,
                               {beta.data() + own.first * m, own.count, m});
    });
    for (std::size_t j = 0; j < m; ++j) {
      double sum = 0, size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_LE(std::fabs(beta(i, j)), c);
        sum += beta(i, j);
        size += std::fabs(beta(i, j));
      }
      EXPECT_LE(std::fabs(sum), 1e-6 * size + 1e-7);
      EXPECT_GT(size, 1);
    }
  }
}

}  // namespace
}  // namespace parsnets
