#pragma once
// Samples of the caller in batches, so that intermediate results stay small. Internal to src/capi.

#include <algorithm>

#include "capi/handles.hpp"

namespace parsnets::capi {

inline constexpr std::size_t kFew = 128;  ///< samples; starting threads for so few would take longer than they save
inline constexpr std::size_t kBytes = std::size_t{32} << 20;  ///< of results at a time before they are handed on

/// Rows at a time so that results of `bytes` each fit.
inline std::size_t batch_of(std::size_t bytes) { return std::clamp<std::size_t>(kBytes / bytes, 1, 8192); }

inline unsigned threads_for(const Samples& input) { return input.count <= kFew ? 1 : input.threads; }

/// Calls body(first, rows) for batches of samples.
template <class Body>
void for_each_batch(const Samples& input, std::size_t rows, const Body& body) {
  for (std::size_t first = 0; first < input.count; first += rows)
    body(first, MatrixView<const float>(input.x + first * input.dimensions, std::min(rows, input.count - first),
                                        input.dimensions));
}

}  // namespace parsnets::capi
