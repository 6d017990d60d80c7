#include "base/exponentials.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "base/simd_levels.hpp"

namespace parsnets {
namespace {

/// From below the smallest argument to above the largest, and lengths that fill no vector.
template <typename T>
std::vector<T> arguments(T low, T high, std::size_t count) {
  Rng rng(count);
  std::vector<T> values{0, T(-0.0), low, high, T(-1e-7), T(1e-7)};
  while (values.size() < count) values.push_back(static_cast<T>(low + (high - low) * rng.uniform()));
  return values;
}

/// Units in the last place of the right value, for the reference rounded from more digits.
template <typename T>
double units_off(T value, long double right) {
  const T near = static_cast<T>(right);
  const T unit = std::nextafter(near, std::numeric_limits<T>::infinity()) - near;
  return static_cast<double>(std::abs((static_cast<long double>(value) - right) / static_cast<long double>(unit)));
}

}  // namespace

TEST(Exponentials, AreThoseOfTheStandardLibraryWithinOneAndAHalfUnitsInTheLastPlace) {
  for (const Simd simd : test::simd_levels()) {
    double off = 0, off_double = 0;
    const auto given = arguments<float>(-87, 88, 20011);
    auto values = given;
    exponentials(1, 0, values, simd);
    for (std::size_t i = 0; i < given.size(); ++i)
      off = std::max(off, units_off(values[i], std::exp(static_cast<long double>(given[i]))));
    const auto z = arguments<double>(-708, 709, 20011);
    std::vector<double> out(z.size());
    exponentials(1, z, out, simd);
    for (std::size_t i = 0; i < z.size(); ++i)
      off_double = std::max(off_double, units_off(out[i], std::exp(static_cast<long double>(z[i]))));
    EXPECT_LT(off, 1.5) << simd_name(simd);
    EXPECT_LT(off_double, 1.5) << simd_name(simd);
  }
}

TEST(Exponentials, ScaleShiftAndSum) {
  for (const Simd simd : test::simd_levels())
    for (const std::size_t count : {0, 1, 7, 8, 9, 200, 1001}) {
      std::vector<float> values(count);
      Rng rng(count);
      for (float& v : values) v = static_cast<float>(rng.normal());
      const auto given = values;
      const double sum = exponentials(3, 2, values, simd);
      double right = 0;
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NEAR(values[i], std::exp(3.0 * given[i] - 2), 4e-6 * std::exp(3.0 * given[i] - 2) + 1e-30);
        right += values[i];
      }
      EXPECT_NEAR(sum, right, 1e-13 * right) << count;
    }
}

TEST(Exponentials, AreZeroBelowTheRangeAndBoundedAboveIt) {
  for (const Simd simd : test::simd_levels()) {
    std::vector<float> values{-87.5F, -1e30F, -std::numeric_limits<float>::infinity(), 88, 1e30F};
    const double sum = exponentials(1, 0, values, simd);
    EXPECT_EQ(values[0], 0);
    EXPECT_EQ(values[1], 0);
    EXPECT_EQ(values[2], 0);
    EXPECT_EQ(values[3], values[4]);
    EXPECT_TRUE(std::isfinite(sum));
    std::vector<double> z{-709, -1e300, -std::numeric_limits<double>::infinity(), 709, 1e300}, out(z.size());
    exponentials(1, z, out, simd);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], 0);
    EXPECT_EQ(out[2], 0);
    EXPECT_EQ(out[3], out[4]);
  }
}

TEST(Exponentials, HaveTheSameBitsWithEveryFusedInstructionSet) {
  std::vector<std::vector<float>> made;
  std::vector<std::vector<double>> made_double;
  std::vector<double> sums;
  for (const Simd simd : test::simd_levels()) {
    if (simd == Simd::portable) continue;  // rounds products, too
    made.push_back(arguments<float>(-87, 88, 4099));
    sums.push_back(exponentials(0.9, 1, made.back(), simd));
    const auto z = arguments<double>(-708, 709, 4099);
    exponentials(0.9, z, made_double.emplace_back(z.size()), simd);
  }
  for (std::size_t i = 1; i < made.size(); ++i) {
    EXPECT_EQ(made[i], made[0]);
    EXPECT_EQ(made_double[i], made_double[0]);
    EXPECT_EQ(sums[i], sums[0]);
  }
}

}  // namespace parsnets
