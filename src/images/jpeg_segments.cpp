#include "images/jpeg_segments.hpp"

#include <algorithm>

namespace parsnets {

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

}  // namespace parsnets
