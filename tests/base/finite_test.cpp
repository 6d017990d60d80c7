#include "base/finite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace parsnets {

/// Vectors of the processor and what is left behind them both look at every place.
template <class T>
void expect_found_anywhere() {
  for (const std::size_t count : {1u, 7u, 16u, 33u, 130u}) {
    std::vector<T> values(count, std::numeric_limits<T>::max());
    values[count / 2] = std::numeric_limits<T>::denorm_min();
    values[0] = T{-0.0};
    EXPECT_TRUE(all_finite(values));
    for (std::size_t i = 0; i < count; ++i)
      for (const T bad : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                          std::numeric_limits<T>::quiet_NaN()}) {
        std::vector<T> spoilt = values;
        spoilt[i] = bad;
        EXPECT_FALSE(all_finite(spoilt)) << bad << " at " << i << " of " << count;
      }
  }
  EXPECT_TRUE(all_finite(std::span<const T>{}));
}

TEST(Finite, SaysWhetherAllValuesAre) {
  expect_found_anywhere<float>();
  expect_found_anywhere<double>();
}

TEST(Finite, SaysWhetherAValueIsNegativeAndTakesMinusZeroForZero) {
  for (const std::size_t count : {1u, 7u, 16u, 33u, 130u}) {
    std::vector<float> values(count, 0.5f);
    values[count / 2] = -0.0f;
    EXPECT_FALSE(any_negative(values));
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<float> other = values;
      other[i] = -std::numeric_limits<float>::denorm_min();
      EXPECT_TRUE(any_negative(other)) << i << " of " << count;
    }
  }
  EXPECT_FALSE(any_negative({}));
}

}  // namespace parsnets
