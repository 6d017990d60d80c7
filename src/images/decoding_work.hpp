#pragma once
// Small files whose decoding takes hours or gigabytes, though their photographs are small.

#include <cstddef>
#include <span>
#include <string>

#include "images/image_header.hpp"

namespace parsnets {

/// Throws bad_input naming `name` for a JPEG file with more than 64 scans (progressive ones have about 10), and for a
/// PNG file with more than 16 text and palette chunks, more than 1 MB of them, several colour profiles or one above
/// 4 MB, or more packed pixels than its size has: libpng unpacks them all. WebP and BMP decoders read nothing but
/// pixels.
void check_decoding_work(std::span<const std::byte> file, ImageFormat format, const std::string& name);

}  // namespace parsnets
