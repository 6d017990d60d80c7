#pragma once
// What the first bytes of an image file say: its format and size. Part of the module parsnets-backbones, too. Only
// files that pass check_image() are decoded.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

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

/// Throws bad_input naming `name` for other formats, damaged headers, sizes beyond the limits, and files that would
/// take too much work (images/decoding_work.hpp).
ImageHeader check_image(std::span<const std::byte> bytes, const ImageLimits& limits, const std::string& name);

}  // namespace parsnets
