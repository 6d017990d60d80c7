#pragma once
// Going over chosen samples of a data set in blocks, so that features of a mapped file need not be in memory at once.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "base/mapped_rows.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

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
