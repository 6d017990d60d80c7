#pragma once
// Numbers in the bytes of an image file.

#include <cstddef>
#include <span>
#include <string_view>

namespace parsnets {

/// Those beyond the end read as 0, so that callers check sizes once. Refers to the bytes.
class ImageBytes {
 public:
  explicit ImageBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }
  std::size_t at(std::size_t i) const { return i < bytes_.size() ? std::to_integer<std::size_t>(bytes_[i]) : 0; }
  std::size_t big(std::size_t from, std::size_t count) const {
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | at(from + i);
    return value;
  }
  std::size_t little(std::size_t from, std::size_t count) const {
    std::size_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | at(from + i);
    return value;
  }
  bool has(std::size_t from, std::string_view text) const {
    if (bytes_.size() < from + text.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (at(from + i) != static_cast<unsigned char>(text[i])) return false;
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace parsnets
