#include "images/image_block.hpp"

#include <fmt/format.h>

#include <mutex>

#include "images/features_of_image.hpp"
#include "images/image_loop.hpp"

namespace parsnets {

namespace {

ImageFeatures read_image(const ImageReader& reader, const ListedImage& image) {
  ImageFeatures features;
  try {
    features.bytes = read_image_file(image.file, reader.limits);
    features.values =
        features_of_image(reader.backbone, reader.input, features.bytes, image.file.string(), reader.limits);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) throw;
    features.error = error;
  }
  return features;
}

}  // namespace

std::string problem_of(const Error& error) {
  const BadInput parts = error.parts();
  return parts.found.empty() ? error.what() : parts.found;
}

Error none_readable(const ListedImage& first, const Error& error, std::size_t images) {
  if (images == 1) return error;
  return Error(BadInput{first.file.string(), "", "at least one readable image",
                        fmt::format("none of {}; the first: {}", images, problem_of(error)), error.parts().advice});
}

void read_images(const ImageReader& reader, std::span<const ListedImage> images, ThreadPool& pool,
                 const std::function<void(std::size_t)>& report,
                 const std::function<void(std::size_t, const ImageFeatures&)>& taken) {
  std::mutex one_at_a_time;
  for_each_image(images.size(), pool, report, [&](std::size_t i) {
    const ImageFeatures features = read_image(reader, images[i]);
    const std::lock_guard lock(one_at_a_time);
    taken(i, features);
  });
}

}  // namespace parsnets
