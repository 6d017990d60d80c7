#pragma once
// Bytes of image files, and what check_image() says of them.

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "expect.hpp"
#include "images/image_header.hpp"

namespace parsnets::test {

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

inline std::string little_endian(std::size_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}
inline std::string big_endian(std::size_t value, int bytes) {
  const std::string text = little_endian(value, bytes);
  return {text.rbegin(), text.rend()};
}

/// The head of a PNG file; `type`: bits per channel and colours.
inline std::string png_head(std::size_t width, std::size_t height, const std::string& type = "\x08\x02") {
  return "\x89PNG\r\n\x1a\n" + big_endian(13, 4) + "IHDR" + big_endian(width, 4) + big_endian(height, 4) + type +
         std::string(3, '\0');
}
/// A segment of a JPEG file.
inline std::string jpeg_segment(int marker, const std::string& content) {
  return std::string{'\xff', static_cast<char>(marker)} + big_endian(content.size() + 2, 2) + content;
}

/// The message of the error; empty: the image is taken.
inline std::string message_of(const std::string& image, const ImageLimits& limits = {}) {
  const std::string message = message_or_none([&] { check_image(bytes_of(image), limits, "photo"); });
  EXPECT_TRUE(message.empty() || message.starts_with("photo: ")) << message;
  return message;
}

}  // namespace parsnets::test
