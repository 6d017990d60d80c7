#pragma once
// From the bytes of an image file to the input of a network, by OpenCV. Runs in the sandbox (parsnets-decode-photos).

#include <cstddef>
#include <span>
#include <string>

#include "parsnets/feature_source.hpp"

namespace parsnets {

/// What a photograph should be that is refused.
inline constexpr const char* kCompleteImage = "a complete image";

/// Call before the sandbox is entered: OpenCV looks at the machine when it is first used.
void prepare_decoding();

/// Writes `input`, 3·height·width values. Returns what is wrong with the image, or kNotEnoughMemory; empty: nothing.
std::string decode_photo(std::span<const std::byte> image, const ImageInput& what, std::span<float> input);

}  // namespace parsnets
