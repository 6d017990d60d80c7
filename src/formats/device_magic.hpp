#pragma once
// How a device file begins: readers of other files recognise one by it.

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace parsnets {

constexpr std::string_view kDeviceMagic = "PARSNETS";

inline bool looks_like_device_file(std::span<const std::byte> bytes) {
  return bytes.size() >= kDeviceMagic.size() &&
         std::memcmp(bytes.data(), kDeviceMagic.data(), kDeviceMagic.size()) == 0;
}

}  // namespace parsnets
