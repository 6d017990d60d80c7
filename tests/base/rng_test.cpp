#include "base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace parsnets {

TEST(Rng, SameSeedGivesTheSameNumbersOnEveryPlatform) {
  // xoshiro256** as published, seeded by the splitmix64 chain of rng.hpp; computed independently in Python.
  Rng rng(1);
  EXPECT_EQ(rng.next(), 0xee127fe613436e33u);
  EXPECT_EQ(rng.next(), 0xd6dad8d34a1874eau);
  EXPECT_EQ(Rng(1, 5).next(), 0xdf13a59e4c9e49dfu);
}

TEST(Rng, BelowIsUniform) {
  Rng rng(3);
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 70000; ++i) ++counts[rng.below(7)];
  for (const int c : counts) EXPECT_NEAR(c, 10000, 400);  // 4.3 standard deviations
}

TEST(Rng, NormalHasTheRightMoments) {
  Rng rng(4);
  double sum = 0, square = 0, fourth = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = rng.normal();
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(square / n, 1, 0.02);
  EXPECT_NEAR(fourth / n, 3, 0.12);
}

TEST(Rng, PermutationHoldsEveryIndexOnce) {
  auto order = Rng(5).permutation(1000);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
}

}  // namespace parsnets
