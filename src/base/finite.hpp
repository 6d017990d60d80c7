#pragma once

#include <span>

namespace parsnets {

/// Whether all values are finite, several at a time.
bool all_finite(std::span<const float> values);
bool all_finite(std::span<const double> values);

}  // namespace parsnets
