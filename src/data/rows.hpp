#pragma once
// Choosing samples of a data set.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// The chosen rows of the features, as they are.
inline Matrix<float> gather_rows(MatrixView<const float> features, std::span<const std::int32_t> rows) {
  Matrix<float> out(rows.size(), features.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = features.row(static_cast<std::size_t>(rows[i]));
    std::copy(row.begin(), row.end(), out.row(i).begin());
  }
  return out;
}

/// The labels of the chosen samples.
inline std::vector<std::int32_t> labels_of(const Dataset& data, std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> labels;
  labels.reserve(rows.size());
  for (const auto r : rows) labels.push_back(data.labels[static_cast<std::size_t>(r)]);
  return labels;
}

/// Ascending, each value once.
inline std::vector<std::int32_t> distinct(std::vector<std::int32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace parsnets
