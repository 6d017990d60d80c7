#pragma once
// Choosing samples of a data set.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/mapped_rows.hpp"
#include "base/rows.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

/// The labels of the chosen samples.
inline std::vector<std::int32_t> labels_of(const Dataset& data, std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> labels;
  labels.reserve(rows.size());
  for (const auto r : rows) labels.push_back(data.labels[static_cast<std::size_t>(r)]);
  return labels;
}

/// Throws bad_input naming the file and its row for the first value among these rows of `features` that is not finite.
/// `first`: the row of the file that row 0 of `features` is.
inline void check_finite_rows(MatrixView<const float> features, std::span<const std::int32_t> rows,
                              const std::string& file, std::size_t first = 0) {
  for (const auto r : rows) {
    const auto row = features.row(static_cast<std::size_t>(r));
    const auto bad = std::ranges::find_if_not(row, [](float v) { return std::isfinite(v); });
    if (bad == row.end()) continue;
    throw Error(BadInput{
        file, fmt::format("row {}, column {} (counted from 0)", first + static_cast<std::size_t>(r), bad - row.begin()),
        "a finite number", fmt::format("{}", *bad), "remove the row or correct the value"});
  }
}

/// The same for a matrix that may be mapped: its rows leave memory once they are checked.
inline void check_finite_rows(const Matrix<float>& features, std::span<const std::int32_t> rows,
                              const std::string& file) {
  UsedRows used(features);
  for (const auto& r : rows) {
    check_finite_rows(features.view(), {&r, 1}, file);
    used.add(static_cast<std::size_t>(r), 1);
  }
}

/// What to call the features of a data set in messages.
inline const std::string& features_source(const Dataset& data) {
  return data.features_file.empty() ? data.name : data.features_file;
}

}  // namespace parsnets
