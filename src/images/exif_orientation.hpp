#pragma once
// How the camera of a JPEG or WebP photograph was held. Part of the module parsnets-backbones, too.

#include <cstddef>
#include <span>

namespace parsnets {

/// The EXIF orientation, 1 to 8: 1 is upright, and what a file without one, or with a damaged one, and one of another
/// format has. Metadata of other kinds, such as XMP, may come before it. Reads no byte outside.
int exif_orientation(std::span<const std::byte> file);

}  // namespace parsnets
