#pragma once
// The segments of a JPEG file.

#include <optional>

#include "images/image_bytes.hpp"

namespace parsnets {

struct JpegSegment {
  std::size_t marker, content;  ///< `content` is where its length is
};

inline constexpr std::size_t kJpegStart = 0xd8, kJpegEnd = 0xd9, kJpegScan = 0xda;

/// The first segment from `at`, which moves behind it; nothing at the end. Begin at 2. Segments are found as libjpeg
/// finds them: bytes between them, those of scans among them, are skipped up to the next marker, and a length below 2
/// counts as 2.
std::optional<JpegSegment> next_jpeg_segment(const ImageBytes& bytes, std::size_t& at);

}  // namespace parsnets
