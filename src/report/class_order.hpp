#pragma once
// An order of classes that puts similar ones side by side.

#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// C x q class vectors to the C indices in display order: by the second eigenvector of the normalised affinity (1 +
/// cosine)/2 raised to the fourth power, then shortened by moving single classes. Deterministic.
std::vector<std::size_t> class_order(MatrixView<const float> vectors);

}  // namespace parsnets
