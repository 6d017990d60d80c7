#pragma once
// A set of samples in a form that a model can keep: which they are, and a checksum of what they are.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finite.hpp"
#include "base/row_blocks.hpp"
#include "base/scratch_file.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/error.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets {

/// One bit per sample, in hexadecimal: bit s % 4 of digit s / 4.
std::string samples_to_hex(std::span<const std::int32_t> samples);
/// The samples, ascending; none when the text is not of that form.
std::vector<std::int32_t> samples_from_hex(std::string_view hex);

/// CRC-32, as 8 hexadecimal digits, of the features of these samples; of 256 of them, evenly spread, when there are
/// more. `samples` ascending.
std::string features_checksum(const Matrix<float>& features, std::span<const std::int32_t> samples);

// Choosing samples of a data set.

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
    if (all_finite(row)) continue;
    const auto bad = std::ranges::find_if_not(row, [](float v) { return std::isfinite(v); });
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

// Going over chosen samples of a data set in blocks, so that features of a mapped file need not be in memory at once.

/// Calls take(first, block) for `rows` cut every `size`, block being rows first, first + 1, … of the list; what a block
/// has read of a mapped file is given back after it. Rows in ascending order are read as they lie in the file.
inline void visit_row_blocks(const Dataset& data, std::span<const std::int32_t> rows, std::size_t size,
                             const std::function<void(std::size_t first, std::span<const std::int32_t> block)>& take) {
  for (std::size_t first = 0; first < rows.size(); first += size) {
    const auto block = rows.subspan(first, std::min(size, rows.size() - first));
    take(first, block);
    const auto [least, most] = std::ranges::minmax(block);
    release_rows(data.features, static_cast<std::size_t>(least), static_cast<std::size_t>(most - least + 1));
  }
}

}  // namespace parsnets
