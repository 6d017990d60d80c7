#include "images/features_of_image.hpp"

#include <fmt/format.h>

#include <mutex>

#include "base/file.hpp"

namespace parsnets {

std::vector<std::byte> read_image_file(const std::filesystem::path& file, const ImageLimits& limits) {
  InputFile source(file);
  if (source.size() > limits.max_bytes)
    throw Error(BadInput{file.string(), "", fmt::format("an image file of at most {} bytes", limits.max_bytes),
                         fmt::format("a file of {} bytes, too large", source.size()), "make the photograph smaller"});
  std::vector<std::byte> bytes(source.size());
  source.read(bytes.data(), bytes.size(), "image");
  return bytes;
}

std::vector<float> features_of_image(Backbone& backbone, const ImageInput& input, std::span<const std::byte> bytes,
                                     const std::string& name, const ImageLimits& limits) {
  const ImageHeader header = check_image(bytes, limits, name);
  std::vector<float> pixels(3 * input.width * input.height), features(backbone.dimensions());
  std::string problem = backbone.prepare(bytes, pixels);
  if (problem == kNotEnoughMemory)
    throw Error(ErrorCode::failure,
                fmt::format("{}: not enough memory to decode {} x {} pixels", name, header.width, header.height));
  if (!problem.empty())
    throw Error(BadInput{name, "", fmt::format("a complete {} image", name_of(header.format)), problem,
                         "get the file again, or convert it"});
  problem = backbone.run(pixels, 1, features);
  if (problem == kNotFinite)
    throw Error(BadInput{name, "", "a photograph of which the network makes numbers", problem, "leave it out"});
  if (problem == kNotEnoughMemory)
    throw Error(ErrorCode::failure, fmt::format("{}: not enough memory to run the network", name));
  if (!problem.empty()) throw Error(ErrorCode::failure, fmt::format("{}: the network failed: {}", name, problem));
  return features;
}

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
                 const std::function<void(std::size_t, const ImageFeatures&)>& taken,
                 const std::function<bool(std::size_t, std::span<const std::byte>)>& known) {
  std::mutex one_at_a_time;
  for_each_image(images.size(), pool, report, [&](std::size_t i) {
    const auto& file = images[i].file;
    ImageFeatures features;
    try {
      features.bytes = read_image_file(file, reader.limits);
      if (known && known(i, features.bytes)) return;
      features.values = features_of_image(reader.backbone, reader.input, features.bytes, file.string(), reader.limits);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_input) throw;
      features.error = error;
    }
    const std::lock_guard lock(one_at_a_time);
    taken(i, features);
  });
}

}  // namespace parsnets
