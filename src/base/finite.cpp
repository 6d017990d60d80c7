#include "base/finite.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/simd.hpp"

namespace parsnets {

namespace {

// The bits of an exponent that no finite number has; or-ing them up is faster than asking each number.

PARSNETS_SIMD std::uint32_t not_finite(const float* values, std::size_t count) {
  constexpr std::uint32_t kBits = 0x7f800000;
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found |= (std::bit_cast<std::uint32_t>(values[i]) & kBits) == kBits ? 1u : 0u;
  return found;
}

PARSNETS_SIMD std::uint64_t not_finite(const double* values, std::size_t count) {
  constexpr std::uint64_t kBits = 0x7ff0000000000000;
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found |= (std::bit_cast<std::uint64_t>(values[i]) & kBits) == kBits ? 1u : 0u;
  return found;
}

PARSNETS_SIMD std::uint32_t negative(const float* values, std::size_t count) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found |= std::bit_cast<std::uint32_t>(values[i]) > 0x80000000u ? 1u : 0u;
  return found;  // −0 is not
}

}  // namespace

bool all_finite(std::span<const float> values) { return not_finite(values.data(), values.size()) == 0; }
bool all_finite(std::span<const double> values) { return not_finite(values.data(), values.size()) == 0; }
bool any_negative(std::span<const float> values) { return negative(values.data(), values.size()) != 0; }

}  // namespace parsnets
