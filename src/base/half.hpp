#pragma once
// IEEE 754 binary16 <-> binary32 in portable integer arithmetic (round to nearest even on the way down).

#include <bit>
#include <cstdint>

namespace parsnets {

inline float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t magnitude = h & 0x7fffu;
  // Shift the 15 bits into a float's place and rescale the exponent; this also normalises subnormals.
  float value = std::bit_cast<float>(magnitude << 13) * std::bit_cast<float>(0x77800000u);  // 2^112
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (magnitude >= 0x7c00u) bits |= 0x7f800000u;
  return std::bit_cast<float>(bits | sign);
}

inline std::uint16_t float_to_half(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // overflow to infinity
  if (magnitude < 0x38800000u) {  // subnormal half: let the float adder round it
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign |
                                      (std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(0.5f)));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

}  // namespace parsnets
