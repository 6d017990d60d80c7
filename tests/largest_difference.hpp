#pragma once
// How far two matrices of weights lie apart.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// The largest difference of two values at the same place, relative to the largest value of `expected`.
inline double largest_difference(const Matrix<float>& expected, const Matrix<float>& found) {
  EXPECT_EQ(expected.rows(), found.rows());
  EXPECT_EQ(expected.cols(), found.cols());
  double most = 0, scale = 1e-30;
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(expected.data()[i]) - found.data()[i]));
    scale = std::max(scale, std::fabs(static_cast<double>(expected.data()[i])));
  }
  return most / scale;
}

}  // namespace parsnets
