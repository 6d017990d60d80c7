#pragma once
// The rows of a matrix, some at a time and in their order: writers take them this way, so that they need not be in
// memory together.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "base/scratch_file.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets {

/// Bytes of the rows that are in memory together.
inline constexpr std::size_t kBlockBytes = 16u << 20;

/// How many rows of `row_bytes` each go into one block: at least one.
inline std::size_t rows_of_a_block(std::size_t row_bytes) {
  return std::max<std::size_t>(1, kBlockBytes / std::max<std::size_t>(1, row_bytes));
}

/// `block(first, count)` gives rows first, …, first + count − 1, valid until the next call; `first` never decreases.
template <class T>
struct RowBlocks {
  std::size_t rows = 0, cols = 0;
  std::function<MatrixView<const T>(std::size_t first, std::size_t count)> block = {};

  std::size_t size() const { return rows * cols; }
};

/// Calls use(first, rows) for one block after the other.
template <class T, class Use>
void for_each_block(const RowBlocks<T>& source, Use use) {
  const std::size_t most = rows_of_a_block(source.cols * sizeof(T));
  for (std::size_t first = 0; first < source.rows; first += most)
    use(first, source.block(first, std::min(most, source.rows - first)));
}

/// Of values that are in memory and stay there.
template <class T>
RowBlocks<T> blocks_of(MatrixView<const T> values) {
  return {values.rows(), values.cols(), [values](std::size_t first, std::size_t count) {
            return MatrixView<const T>(values.data() + first * values.cols(), count, values.cols());
          }};
}

/// Of `rows` rows from `begin` on, or all, of a matrix that outlives the result. Where it is mapped, rows are given
/// back to the system once they were used.
inline RowBlocks<float> blocks_of(const Matrix<float>& values, std::size_t begin, std::size_t rows) {
  return {rows, values.cols(), [&values, begin, kept = begin](std::size_t first, std::size_t count) mutable {
            first += begin;
            release_rows(values, kept, first - kept);
            kept = first;
            return MatrixView<const float>(values.data() + first * values.cols(), count, values.cols());
          }};
}
inline RowBlocks<float> blocks_of(const Matrix<float>& values) { return blocks_of(values, 0, values.rows()); }

/// Of chosen rows, which are copied. Both outlive the result.
inline RowBlocks<float> blocks_of(const Matrix<float>& values, std::span<const std::int32_t> rows) {
  return {rows.size(), values.cols(),
          [&values, rows, block = std::make_shared<Matrix<float>>()](std::size_t first, std::size_t count) {
            *block = Matrix<float>();  // not two of them at a time
            *block = gather_rows(values, rows.subspan(first, count));
            return MatrixView<const float>(block->view());
          }};
}

// Rows of a matrix by number, and sets of numbers.

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

/// The values of both, ascending.
inline std::vector<std::int32_t> intersection(std::vector<std::int32_t> a, std::vector<std::int32_t> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<std::int32_t> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

/// The labels that the samples have, ascending, each once; none without labels.
inline std::vector<std::int32_t> distinct_labels(std::span<const std::int32_t> samples,
                                                 std::span<const std::int32_t> labels) {
  std::vector<std::int32_t> found;
  if (labels.empty()) return found;
  for (const auto s : samples) found.push_back(labels[static_cast<std::size_t>(s)]);
  return distinct(std::move(found));
}

}  // namespace parsnets
