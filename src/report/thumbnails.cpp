// Photographs of the samples for the report, as a data: URL.

#include <fmt/format.h>

#include "base/file.hpp"
#include "images/image_header.hpp"
#include "parsnets/error.hpp"
#include "parsnets/report.hpp"

namespace parsnets {

namespace {

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
    const auto header = read_image_header(std::as_bytes(std::span(bytes)));
    const std::size_t width = header ? header->width : 0, height = header ? header->height : 0;
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
