#pragma once
// From one image file to its features, by a backbone that is open.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "images/image_header.hpp"
#include "parsnets/backbone.hpp"

namespace parsnets {

/// The bytes of a file. Throws bad_input for one that cannot be read or is larger than the limit.
std::vector<std::byte> read_image_file(const std::filesystem::path& file, const ImageLimits& limits = {});

/// Checks and decodes one image into `input`, 3·height·width values. Throws bad_input naming `name`, and failure when
/// memory is short. Thread-safe.
void prepare_image(const Backbone& backbone, std::span<const std::byte> bytes, const std::string& name,
                   std::span<float> input, const ImageLimits& limits = {});

/// A prepared input to dimensions() features. Throws bad_input naming `name` when they are not finite, and failure
/// when memory is short or the network fails. Thread-safe.
void run_backbone(Backbone& backbone, std::span<const float> input, const std::string& name, std::span<float> features);

/// Features of one image, dimensions() values. `input`: what the backbone was opened with. Throws bad_input naming
/// `name`, and failure. Thread-safe.
std::vector<float> features_of_image(Backbone& backbone, const ImageInput& input, std::span<const std::byte> bytes,
                                     const std::string& name, const ImageLimits& limits = {});

}  // namespace parsnets
