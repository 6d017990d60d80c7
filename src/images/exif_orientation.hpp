#pragma once
// How a WebP photograph was held. Part of the module parsnets-backbones, too.

#include <cstddef>
#include <span>

namespace parsnets {

/// The EXIF orientation, 1 to 8: 1 is upright, and what a file without one, or with a damaged one, has. Reads no byte
/// outside.
int webp_orientation(std::span<const std::byte> file);

}  // namespace parsnets
