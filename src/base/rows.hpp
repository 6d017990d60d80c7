#pragma once
// Rows of a matrix by number, and sets of numbers.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// The chosen rows, in the order given.
inline Matrix<float> gather_rows(MatrixView<const float> features, std::span<const std::int32_t> rows) {
  Matrix<float> out(rows.size(), features.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = features.row(static_cast<std::size_t>(rows[i]));
    std::copy(row.begin(), row.end(), out.row(i).begin());
  }
  return out;
}

/// Ascending, each value once.
inline std::vector<std::int32_t> distinct(std::vector<std::int32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace parsnets
