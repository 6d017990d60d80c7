#include "images/exif_orientation.hpp"

#include <algorithm>

#include "images/image_header.hpp"
#include "images/jpeg_segments.hpp"

namespace parsnets {

namespace {

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

int exif_orientation(std::span<const std::byte> file) {
  const auto format = read_image_format(file);
  return format == ImageFormat::jpeg   ? jpeg_orientation(file)
         : format == ImageFormat::webp ? webp_orientation(file)
                                       : 1;
}

}  // namespace parsnets
