#pragma once

#include <span>

namespace parsnets {

/// Whether all values are finite, several at a time.
bool all_finite(std::span<const float> values);
bool all_finite(std::span<const double> values);
/// Whether one of them is below zero, or is a nan with a sign.
bool any_negative(std::span<const float> values);

}  // namespace parsnets
