// Photographs of the samples for the report, as a data: URL.

#include <fmt/format.h>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "parsnets/report.hpp"

namespace parsnets {

namespace {

std::size_t big_endian(const std::string& bytes, std::size_t at, std::size_t count) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Width and height from the headers; zeros for anything but a PNG or JPEG.
std::pair<std::size_t, std::size_t> picture_size(const std::string& bytes) {
  if (bytes.size() > 24 && bytes.compare(1, 3, "PNG") == 0) return {big_endian(bytes, 16, 4), big_endian(bytes, 20, 4)};
  if (bytes.size() < 4 || bytes.compare(0, 2, "\xff\xd8") != 0) return {0, 0};
  for (std::size_t at = 2; at + 9 < bytes.size();) {  // segments: ff, marker, length
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    if (static_cast<unsigned char>(bytes[at]) != 0xff) return {0, 0};
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) return {big_endian(bytes, at + 7, 2), big_endian(bytes, at + 5, 2)};
    at += 2 + big_endian(bytes, at + 2, 2);
  }
  return {0, 0};
}

std::string base64(const std::string& bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::size_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

}  // namespace

Thumbnails read_thumbnails(const std::filesystem::path& folder, std::size_t samples) {
  for (const char* type : {"jpeg", "png"}) {
    const auto file = folder / (std::string("thumbnails.") + (type[0] == 'j' ? "jpg" : "png"));
    if (!std::filesystem::is_regular_file(file)) continue;
    const std::string bytes = read_text_file(file);
    const auto [width, height] = picture_size(bytes);
    std::size_t size = std::min(width, height);
    while (size > 0 && (width / size) * (height / size) < samples) --size;
    if (size == 0)
      throw Error(BadInput{file.string(), "",
                           fmt::format("a JPEG or PNG with a square for each of {} samples", samples),
                           fmt::format("{} x {} pixels", width, height), "remove the file or create it again"});
    return {fmt::format("data:image/{};base64,{}", type, base64(bytes)), width / size, size};
  }
  return {};
}

}  // namespace parsnets
