#pragma once
// Sizes that come from files are multiplied here, so that no overflow goes unseen.

#include <cstdint>
#include <optional>

namespace parsnets {

inline std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace parsnets
