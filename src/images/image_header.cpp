#include "images/image_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Numbers in bytes; those beyond the end read as 0, so that callers check sizes once.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

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

using Size = std::optional<std::pair<std::size_t, std::size_t>>;

struct JpegSegment {
  std::size_t marker, content;  ///< `content` is where its length is
};

constexpr std::size_t kStartOfScan = 0xda, kEndOfImage = 0xd9, kStartOfImage = 0xd8;

/// Markers are found as libjpeg finds them: bytes between segments are skipped up to the next 0xff.
std::optional<JpegSegment> next_segment(const Bytes& bytes, std::size_t& at) {
  while (at < bytes.size()) {
    while (at < bytes.size() && bytes.at(at) != 0xff) ++at;
    while (at < bytes.size() && bytes.at(at) == 0xff) ++at;
    const JpegSegment segment{bytes.at(at), at + 1};
    ++at;
    if (segment.marker <= 0x01 || (segment.marker >= 0xd0 && segment.marker <= 0xd7)) continue;  // without content
    if (segment.marker == kStartOfImage || segment.marker == kEndOfImage || at + 2 > bytes.size() ||
        bytes.big(at, 2) < 2)
      return {};
    at += bytes.big(at, 2);
    return segment;
  }
  return {};
}

Size jpeg_size(const Bytes& bytes) {
  std::size_t at = 2;
  while (const auto segment = next_segment(bytes, at)) {
    const std::size_t marker = segment->marker;
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (marker == kStartOfScan || (frame && segment->content + 7 > bytes.size())) return {};
    if (frame) return {{bytes.big(segment->content + 5, 2), bytes.big(segment->content + 3, 2)}};
  }
  return {};
}

/// Whether an end of the image follows its first scan: libjpeg makes up the pixels of a file that was cut off.
bool jpeg_has_end(const Bytes& bytes) {
  std::size_t at = 2;
  while (const auto segment = next_segment(bytes, at)) {
    if (segment->marker != kStartOfScan) continue;
    for (std::size_t end = bytes.size(); end-- > segment->content + 1;)
      if (bytes.at(end) == kEndOfImage && bytes.at(end - 1) == 0xff) return true;
    return false;
  }
  return false;
}

Size png_size(const Bytes& bytes) {
  if (bytes.size() < 24 || bytes.big(8, 4) != 13 || !bytes.has(12, "IHDR")) return {};
  return {{bytes.big(16, 4), bytes.big(20, 4)}};
}

Size webp_size(const Bytes& bytes) {
  if (bytes.size() < 30) return {};
  if (bytes.has(12, "VP8X")) return {{1 + bytes.little(24, 3), 1 + bytes.little(27, 3)}};
  if (bytes.has(12, "VP8L") && bytes.at(20) == 0x2f) {
    const std::size_t bits = bytes.little(21, 4);
    return {{1 + (bits & 0x3fff), 1 + (bits >> 14 & 0x3fff)}};
  }
  if (bytes.has(12, "VP8 ") && bytes.has(23, "\x9d\x01\x2a"))
    return {{bytes.little(26, 2) & 0x3fff, bytes.little(28, 2) & 0x3fff}};
  return {};
}

Size bmp_size(const Bytes& bytes) {
  if (bytes.size() < 26) return {};
  const std::size_t header = bytes.little(14, 4);
  if (header == 12) return {{bytes.little(18, 2), bytes.little(20, 2)}};
  if (header < 40 || header > 124) return {};
  const auto height = static_cast<std::int32_t>(bytes.little(22, 4));  // negative: the first row is at the top
  return {{bytes.little(18, 4), static_cast<std::size_t>(height < 0 ? -static_cast<std::int64_t>(height) : height)}};
}

std::optional<ImageFormat> format_of(const Bytes& bytes) {
  if (bytes.has(0, "\xff\xd8\xff")) return ImageFormat::jpeg;
  if (bytes.has(0, "\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  if (bytes.has(0, "RIFF") && bytes.has(8, "WEBP")) return ImageFormat::webp;
  if (bytes.has(0, "BM")) return ImageFormat::bmp;
  return std::nullopt;
}

/// For messages about files of other formats.
std::string name_of_content(const Bytes& bytes) {
  constexpr std::array<std::pair<std::string_view, const char*>, 8> kOthers{{{"GIF8", "a GIF"},
                                                                             {"II*", "a TIFF"},
                                                                             {"MM", "a TIFF"},
                                                                             {"v/1\x01", "an OpenEXR image"},
                                                                             {"%PDF", "a PDF document"},
                                                                             {"<svg", "an SVG drawing"},
                                                                             {"<?xml", "an XML document"},
                                                                             {"<", "a web page"}}};
  if (bytes.size() == 0) return "an empty file";
  if (bytes.has(4, "ftyp")) return "a HEIF or AVIF image or a film";
  if (bytes.has(4, "jP  ")) return "a JPEG 2000";
  for (const auto& [start, name] : kOthers)
    if (bytes.has(0, start)) return name;
  return "another kind of file";
}

}  // namespace

const char* name_of(ImageFormat format) {
  constexpr std::array<const char*, 4> kNames{"JPEG", "PNG", "WebP", "BMP"};
  return kNames[static_cast<std::size_t>(format)];
}

const char* media_type(ImageFormat format) {
  constexpr std::array<const char*, 4> kTypes{"image/jpeg", "image/png", "image/webp", "image/bmp"};
  return kTypes[static_cast<std::size_t>(format)];
}

std::optional<ImageHeader> read_image_header(std::span<const std::byte> content) {
  const Bytes bytes(content);
  const auto format = format_of(bytes);
  if (!format) return std::nullopt;
  constexpr std::array<Size (*)(const Bytes&), 4> kReaders{jpeg_size, png_size, webp_size, bmp_size};
  const Size size = kReaders[static_cast<std::size_t>(*format)](bytes);
  if (!size || size->first == 0 || size->second == 0) return std::nullopt;
  return ImageHeader{*format, size->first, size->second};
}

ImageHeader check_image(std::span<const std::byte> content, const ImageLimits& limits, const std::string& name) {
  if (content.size() > limits.max_bytes)
    throw Error(BadInput{name, "", fmt::format("an image file of at most {} bytes", limits.max_bytes),
                         fmt::format("{} bytes", content.size()), "make the photograph smaller"});
  const Bytes bytes(content);
  const auto format = format_of(bytes);
  if (!format)
    throw Error(BadInput{name, "", "a JPEG, PNG, WebP or BMP image", name_of_content(bytes), "convert it to JPEG"});
  const auto header = read_image_header(content);
  if (!header)
    throw Error(BadInput{name, "", fmt::format("a {} image with its size", name_of(*format)), "a damaged header",
                         "get the file again"});
  if (*format == ImageFormat::jpeg && !jpeg_has_end(bytes))
    throw Error(BadInput{name, "", "a complete JPEG image", "a file that ends early", "get the file again"});
  if (std::max(header->width, header->height) > limits.max_side || header->width > limits.max_pixels / header->height)
    throw Error(BadInput{name, "",
                         fmt::format("at most {} pixels, and {} on a side", limits.max_pixels, limits.max_side),
                         fmt::format("{} x {}", header->width, header->height), "make the photograph smaller"});
  return *header;
}

}  // namespace parsnets
