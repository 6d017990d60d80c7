#pragma once
// Features of several photographs, and why some have none: what extraction and prediction share.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "images/image_header.hpp"
#include "images/image_list.hpp"
#include "parsnets/backbone.hpp"
#include "parsnets/error.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// One photograph that was read.
struct ImageFeatures {
  std::optional<Error> error;    ///< bad_input: it cannot be read, or its features are not finite
  std::vector<std::byte> bytes;  ///< of the file
  std::vector<float> values;     ///< dimensions() of them, unless there is an error
};

/// What was found, for lists of problems.
std::string problem_of(const Error& error);

/// For `images` of which none can be read: the first one, and its error.
Error none_readable(const ListedImage& first, const Error& error, std::size_t images);

/// `input`: what the backbone was opened with.
struct ImageReader {
  Backbone& backbone;
  ImageInput input;
  ImageLimits limits;
};

/// Reads images by the threads of `pool`. Calls taken(i, features) for each, one at a time, in any order, on any
/// thread, and report(done) on the calling thread between images; both may throw. Throws failure when memory is short
/// or the network fails: the images are not at fault then.
void read_images(const ImageReader& reader, std::span<const ListedImage> images, ThreadPool& pool,
                 const std::function<void(std::size_t done)>& report,
                 const std::function<void(std::size_t i, const ImageFeatures& features)>& taken);

}  // namespace parsnets
