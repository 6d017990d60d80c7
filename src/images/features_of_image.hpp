#pragma once
// From image files to their features, by a backbone that is open.

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "images/backbone.hpp"
#include "images/image_header.hpp"
#include "images/image_list.hpp"
#include "parsnets/error.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// The bytes of a file. Throws bad_input for one that cannot be read or is larger than the limit.
std::vector<std::byte> read_image_file(const std::filesystem::path& file, const ImageLimits& limits = {});

/// Features of one image, dimensions() values. `input`: what the backbone was opened with. Throws bad_input naming
/// `name`, also when features are not finite, and failure when memory is short or the network fails. Thread-safe.
std::vector<float> features_of_image(Backbone& backbone, const ImageInput& input, std::span<const std::byte> bytes,
                                     const std::string& name, const ImageLimits& limits = {});

// Features of several photographs, and why some have none: what extraction and prediction share.

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
/// thread, unless known(i, bytes of its file) says that its features are not needed, and report(done) on the calling
/// thread between images; both may throw. Throws failure when memory is short or the network fails: the images are not
/// at fault then.
void read_images(const ImageReader& reader, std::span<const ListedImage> images, ThreadPool& pool,
                 const std::function<void(std::size_t done)>& report,
                 const std::function<void(std::size_t i, const ImageFeatures& features)>& taken,
                 const std::function<bool(std::size_t i, std::span<const std::byte> bytes)>& known = {});

// A loop over photographs by several threads, which ends soon after Ctrl-C and after the first failure.

/// Calls body(i) for [0, count), in any order, on the threads of `pool`. The calling thread calls report(done) before
/// all, and between its own. After an exception of either no further one begins, and it is rethrown.
inline void for_each_image(std::size_t count, ThreadPool& pool, const std::function<void(std::size_t done)>& report,
                           const std::function<void(std::size_t i)>& body) {
  if (count == 0) return;
  report(0);
  const auto caller = std::this_thread::get_id();
  bool reported = true;  // used by the caller alone
  std::atomic<std::size_t> done = 0;
  std::atomic<bool> ended = false;
  pool.parallel_for(count, 1, [&](std::size_t i, std::size_t, std::size_t) {
    if (ended) return;
    try {
      if (std::this_thread::get_id() == caller && !std::exchange(reported, false)) report(done);
      body(i);
      ++done;
    } catch (...) {
      ended = true;
      throw;
    }
  });
}

}  // namespace parsnets
