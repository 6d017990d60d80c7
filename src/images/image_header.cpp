#include "images/image_header.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace parsnets {

namespace {

using Size = std::optional<std::pair<std::size_t, std::size_t>>;

Size jpeg_size(const ImageBytes& bytes) {
  std::size_t at = 2;
  while (const auto segment = next_jpeg_segment(bytes, at)) {
    const std::size_t marker = segment->marker;
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (marker == kJpegScan || (frame && segment->content + 7 > bytes.size())) return {};
    if (frame) return {{bytes.big(segment->content + 5, 2), bytes.big(segment->content + 3, 2)}};
  }
  return {};
}

Size png_size(const ImageBytes& bytes) {
  if (bytes.size() < 24 || bytes.big(8, 4) != 13 || !bytes.has(12, "IHDR")) return {};
  return {{bytes.big(16, 4), bytes.big(20, 4)}};
}

Size webp_size(const ImageBytes& bytes) {
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

Size bmp_size(const ImageBytes& bytes) {
  if (bytes.size() < 26) return {};
  const std::size_t header = bytes.little(14, 4);
  if (header == 12) return {{bytes.little(18, 2), bytes.little(20, 2)}};
  if (header < 40 || header > 124) return {};
  const auto height = static_cast<std::int32_t>(bytes.little(22, 4));  // negative: the first row is at the top
  return {{bytes.little(18, 4), static_cast<std::size_t>(height < 0 ? -static_cast<std::int64_t>(height) : height)}};
}

constexpr std::size_t kOrientation = 0x112, kShort = 3, kEntryBytes = 12, kJpegMetadata = 0xe1;
constexpr std::string_view kExif("Exif\0\0", 6);

/// Of a TIFF structure: a header, and entries of 12 bytes at the place that it names.
int orientation_in(const ImageBytes& tiff) {
  const bool little = tiff.has(0, "II");
  if (!little && !tiff.has(0, "MM")) return 1;
  const auto number = [&](std::size_t at, std::size_t bytes) {
    return little ? tiff.little(at, bytes) : tiff.big(at, bytes);
  };
  const std::size_t table = number(4, 4);
  if (number(2, 2) != 42 || table + 2 > tiff.size()) return 1;
  const std::size_t entries = number(table, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = table + 2 + i * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) return 1;
    if (number(at, 2) != kOrientation || number(at + 2, 2) != kShort) continue;
    const std::size_t value = number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int jpeg_orientation(std::span<const std::byte> file) {
  const ImageBytes bytes(file);
  std::size_t at = 2;
  while (const auto segment = next_jpeg_segment(bytes, at)) {
    if (segment->marker == kJpegScan) return 1;
    const std::size_t content = segment->content + 2 + kExif.size(), end = std::min(at, file.size());
    if (segment->marker == kJpegMetadata && bytes.has(segment->content + 2, kExif) && content <= end)
      return orientation_in(ImageBytes(file.subspan(content, end - content)));
  }
  return 1;
}

int webp_orientation(std::span<const std::byte> file) {
  const ImageBytes bytes(file);
  if (!bytes.has(8, "WEBPVP8X")) return 1;  // only extended files have metadata
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::size_t length = bytes.little(at + 4, 4), content = at + 8;
    if (length > bytes.size() - content) return 1;
    if (bytes.has(at, "EXIF")) {
      const std::size_t name = bytes.has(content, kExif) ? kExif.size() : 0;  // as in JPEG files; some programs add it
      return name > length ? 1 : orientation_in(ImageBytes(file.subspan(content + name, length - name)));
    }
    at = content + length + length % 2;
  }
  return 1;
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

std::optional<ImageFormat> read_image_format(std::span<const std::byte> content) {
  const ImageBytes bytes(content);
  if (bytes.has(0, "\xff\xd8\xff")) return ImageFormat::jpeg;
  if (bytes.has(0, "\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  if (bytes.has(0, "RIFF") && bytes.has(8, "WEBP")) return ImageFormat::webp;
  if (bytes.has(0, "BM")) return ImageFormat::bmp;
  return std::nullopt;
}

std::optional<ImageHeader> read_image_header(std::span<const std::byte> content) {
  const auto format = read_image_format(content);
  if (!format) return std::nullopt;
  constexpr std::array<Size (*)(const ImageBytes&), 4> kReaders{jpeg_size, png_size, webp_size, bmp_size};
  const Size size = kReaders[static_cast<std::size_t>(*format)](ImageBytes(content));
  if (!size || size->first == 0 || size->second == 0) return std::nullopt;
  return ImageHeader{*format, size->first, size->second};
}

std::optional<JpegSegment> next_jpeg_segment(const ImageBytes& bytes, std::size_t& at) {
  while (at < bytes.size()) {
    while (at < bytes.size() && bytes.at(at) != 0xff) ++at;
    while (at < bytes.size() && bytes.at(at) == 0xff) ++at;
    const JpegSegment segment{bytes.at(at), at + 1};
    ++at;
    if (segment.marker <= 0x01 || (segment.marker >= 0xd0 && segment.marker <= 0xd7)) continue;  // without content
    if (segment.marker == kJpegStart || segment.marker == kJpegEnd || at + 2 > bytes.size()) return {};
    at += std::max<std::size_t>(2, bytes.big(at, 2));
    return segment;
  }
  return {};
}

int exif_orientation(std::span<const std::byte> file) {
  const auto format = read_image_format(file);
  return format == ImageFormat::jpeg   ? jpeg_orientation(file)
         : format == ImageFormat::webp ? webp_orientation(file)
                                       : 1;
}

}  // namespace parsnets
