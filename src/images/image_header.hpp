#pragma once
// What the first bytes of an image file say: its format and size. Part of the module parsnets-backbones, too. Only
// files that pass check_image() (image_check.cpp) are decoded.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parsnets/feature_source.hpp"

namespace parsnets {

enum class ImageFormat { jpeg, png, webp, bmp };

struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  std::size_t width = 0, height = 0;  ///< pixels, before the EXIF orientation is applied; at least 1
};

/// What is decoded at most: a few bytes may stand for billions of pixels.
struct ImageLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_pixels = 50'000'000;
  std::size_t max_side = 65'535;
};

/// "JPEG", "PNG", "WebP", "BMP"
const char* name_of(ImageFormat format);
/// "image/jpeg", …
const char* media_type(ImageFormat format);

/// By the first bytes; nothing for other files.
std::optional<ImageFormat> read_image_format(std::span<const std::byte> bytes);
/// Nothing unless the bytes begin as a JPEG, PNG, WebP or BMP file whose header gives a size. Reads no byte outside.
std::optional<ImageHeader> read_image_header(std::span<const std::byte> bytes);

/// Throws bad_input naming `name` for other formats, damaged headers, sizes beyond the limits, and for small files
/// whose decoding takes hours or gigabytes: a JPEG file with more than 64 scans (progressive ones have about 10), and a
/// PNG file with more than 16 text and palette chunks, more than 1 MB of them, several colour profiles or one above 4
/// MB, or more packed pixels than its size has: libpng unpacks them all. WebP and BMP decoders read nothing but pixels.
ImageHeader check_image(std::span<const std::byte> bytes, const ImageLimits& limits, const std::string& name);

/// Bytes that decoding takes per pixel, at most: the coefficients of a progressive JPEG of four inks (8), its pixels
/// (3), and once more while they are turned upright (3).
inline constexpr double kDecodingBytesPerPixel = 14;

/// At most, when `threads` threads decode photographs within `limits` at a time and `inputs` inputs of a network are
/// held.
inline double decoding_bytes(const ImageLimits& limits, const ImageInput& input, std::size_t threads,
                             std::size_t inputs) {
  const double input_bytes = 3.0 * sizeof(float) * static_cast<double>(input.width * input.height);
  const double one =
      kDecodingBytesPerPixel * static_cast<double>(limits.max_pixels) + static_cast<double>(limits.max_bytes);
  return static_cast<double>(threads) * one + static_cast<double>(inputs) * input_bytes;
}

/// The EXIF orientation, 1 to 8: 1 is upright, and what a file without one, or with a damaged one, and one of another
/// format has. Metadata of other kinds, such as XMP, may come before it. Reads no byte outside.
int exif_orientation(std::span<const std::byte> file);

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

struct JpegSegment {
  std::size_t marker, content;  ///< `content` is where its length is
};

inline constexpr std::size_t kJpegStart = 0xd8, kJpegEnd = 0xd9, kJpegScan = 0xda;

/// The first segment from `at`, which moves behind it; nothing at the end. Begin at 2. Segments are found as libjpeg
/// finds them: bytes between them, those of scans among them, are skipped up to the next marker, and a length below 2
/// counts as 2.
std::optional<JpegSegment> next_jpeg_segment(const ImageBytes& bytes, std::size_t& at);

}  // namespace parsnets
