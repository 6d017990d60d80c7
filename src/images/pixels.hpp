#pragma once
// From the pixels of a photograph to the input of a network. Part of the module parsnets-backbones, too.

#include <cstddef>
#include <cstdint>
#include <span>

#include "parsnets/feature_source.hpp"

namespace parsnets {

/// Rows of pixels, each blue, green, red. Does not own them.
struct PixelView {
  const std::uint8_t* data = nullptr;
  std::size_t width = 0, height = 0, row_bytes = 0;
};

/// Writes `values`, 3 x height x width of `input`: scaled bilinearly, averaging over the pixels that a smaller image
/// has in place of one (as Pillow and torchvision do), cut out and coloured as `input` says.
void to_network_input(const PixelView& pixels, const ImageInput& input, std::span<float> values);

}  // namespace parsnets
