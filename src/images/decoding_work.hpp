#pragma once
// Small files whose decoding takes hours or gigabytes, though their photographs are small.

#include <string>

#include "images/image_bytes.hpp"
#include "images/image_header.hpp"

namespace parsnets {

/// Throws bad_input naming `name` for a JPEG file with more than 64 scans (progressive ones have about 10), and for a
/// PNG file with more than 16 text and palette chunks, more than 1 MB of them, several colour profiles or one above
/// 4 MB: libpng unpacks them. WebP and BMP decoders read nothing but pixels.
void check_decoding_work(const ImageBytes& bytes, ImageFormat format, const std::string& name);

}  // namespace parsnets
