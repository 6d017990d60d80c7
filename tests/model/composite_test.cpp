#include "model/composite.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random_matrix.hpp"

namespace parsnets {

TEST(Composite, EqualsTheSumOverOpenNetworksSampleBySample) {
  const std::size_t n = 700, h = 5, m = 4, networks = 6, k = 3;
  Rng rng(1);
  const auto z = test::random_matrix<float>(n, h, 2), theta = test::random_matrix<float>(networks * (h + 1), m, 3);
  const std::vector<float> bias{0.5f, -1, 2, 0.25f};
  Matrix<std::uint16_t> open(n, k);
  for (std::size_t r = 0; r < n; ++r) {
    auto chosen = rng.permutation(networks);
    std::sort(chosen.begin(), chosen.begin() + k);
    for (std::size_t i = 0; i < k; ++i) open(r, i) = static_cast<std::uint16_t>(chosen[i]);
  }
  ThreadPool one(1), two(2);
  const Matrix<float> f = compose(z.view(), open.view(), networks, theta.view(), bias, false, one);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t j = 0; j < m; ++j) {
      double expected = bias[j];
      for (std::size_t i = 0; i < k; ++i) {
        const std::size_t first = open(r, i) * (h + 1);
        expected += theta(first, j);
        for (std::size_t c = 0; c < h; ++c) expected += theta(first + 1 + c, j) * z(r, c);
      }
      EXPECT_NEAR(f(r, j), expected, 1e-4);
    }
  EXPECT_TRUE(test::same_bits(f, compose(z.view(), open.view(), networks, theta.view(), bias, false, two)));
}

TEST(Composite, ReluCutsEachNetworkBeforeTheyAreAdded) {
  Matrix<float> z(1, 1, 1.0f), theta(4, 1);
  theta(0, 0) = 1;  // network 0: 1 + 2z = 3
  theta(1, 0) = 2;
  theta(2, 0) = -4;  // network 1: -4 + z = -3, cut off
  theta(3, 0) = 1;
  Matrix<std::uint16_t> open(1, 2);
  open(0, 0) = 0;
  open(0, 1) = 1;
  ThreadPool pool(1);
  const std::vector<float> bias{-5.0f};
  EXPECT_FLOAT_EQ(compose(z.view(), open.view(), 2, theta.view(), bias, true, pool)(0, 0), -2);
  EXPECT_FLOAT_EQ(compose(z.view(), open.view(), 2, theta.view(), bias, false, pool)(0, 0), -5);
}

}  // namespace parsnets
