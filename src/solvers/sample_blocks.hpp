#pragma once
// The training samples of a process as networks see them, some at a time: they need not be in memory at once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "parsnets/matrix.hpp"

namespace parsnets {

struct SampleBlock {
  std::size_t first = 0;                 ///< how many samples come before it
  MatrixView<const float> x;             ///< n x d, prepared
  MatrixView<const float> z;             ///< n x h, what gated networks see; empty without them
  MatrixView<const std::uint16_t> open;  ///< n x k
  std::span<const std::int32_t> labels;  ///< n
};

/// Hands out all samples, always the same blocks in the same order. A block ends with the call that it is given to.
using SampleBlocks = std::function<void(const std::function<void(const SampleBlock&)>& take)>;

}  // namespace parsnets
