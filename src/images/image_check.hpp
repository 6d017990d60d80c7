#pragma once
// Small files whose decoding takes hours or gigabytes, though their photographs are small.

#include <cstddef>
#include <span>
#include <string>

#include "images/image_header.hpp"
#include "parsnets/feature_source.hpp"

namespace parsnets {

/// Throws bad_input naming `name` for a JPEG file with more than 64 scans (progressive ones have about 10), and for a
/// PNG file with more than 16 text and palette chunks, more than 1 MB of them, several colour profiles or one above
/// 4 MB, or more packed pixels than its size has: libpng unpacks them all. WebP and BMP decoders read nothing but
/// pixels.
void check_decoding_work(std::span<const std::byte> file, ImageFormat format, const std::string& name);

// Memory that decoding photographs takes.

/// Per pixel, at most: the coefficients of a progressive JPEG of four inks (8), its pixels (3), and once more while
/// they are turned upright (3). Part of the module parsnets-backbones, too.
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

}  // namespace parsnets
