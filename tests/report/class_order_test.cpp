#include "report/class_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"

namespace parsnets {
namespace {

/// Classes on an arc, shuffled: neighbours on the arc are most alike.
Matrix<float> arc(std::size_t n, std::vector<std::size_t>& place) {
  place.resize(n);
  std::iota(place.begin(), place.end(), std::size_t{0});
  Rng(3).shuffle(place);
  Matrix<float> vectors(n, 2);
  for (std::size_t i = 0; i < n; ++i) {
    const double angle = 2.5 * static_cast<double>(place[i]) / static_cast<double>(n);
    vectors(i, 0) = static_cast<float>(std::cos(angle));
    vectors(i, 1) = static_cast<float>(std::sin(angle));
  }
  return vectors;
}

TEST(ClassOrder, FindsTheOrderOfClassesOnAnArc) {
  std::vector<std::size_t> place;
  const Matrix<float> vectors = arc(40, place);
  std::vector<std::size_t> found;
  for (const auto c : class_order(vectors.view())) found.push_back(place[c]);
  if (found.front() > found.back()) std::ranges::reverse(found);
  EXPECT_TRUE(std::ranges::is_sorted(found));
}

TEST(ClassOrder, IsAPermutationForAnyNumberOfClasses) {
  Rng rng(4);
  for (const std::size_t n : {1u, 2u, 3u, 17u, 120u}) {
    Matrix<float> vectors(n, 5);
    for (float& v : vectors.values()) v = n == 17 ? 0.0f : static_cast<float>(rng.normal());
    auto order = class_order(vectors.view());
    std::ranges::sort(order);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  }
}

}  // namespace
}  // namespace parsnets
