#pragma once

#include <algorithm>

#include "solvers/class_means.hpp"

namespace parsnets::test {

/// Means of f (n x o) over the samples of each class.
inline ClassMeans class_means(MatrixView<const float> f, std::span<const std::int32_t> labels) {
  SingleProcess alone;
  ThreadPool caller(1);
  const std::size_t classes = labels.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(labels)) + 1;
  const ClassSlots slots(labels, classes, alone);
  ClassSums sums(slots, f.cols());
  sums.add(0, f, caller);
  return sums.means(alone);
}

}  // namespace parsnets::test
