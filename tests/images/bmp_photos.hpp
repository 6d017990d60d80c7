#pragma once
// Photographs as BMP files, and a backbone that reads only these: tests of everything around OpenCV.

#include <atomic>
#include <random>
#include <string>

#include "base/file.hpp"
#include "images/backbone.hpp"
#include "images/image_problem.hpp"
#include "images/pixels.hpp"

namespace parsnets::test {

/// 24-bit rows from the bottom up; `width` is a multiple of 4, so that they need no padding.
inline std::string bmp_photo(std::size_t width, std::size_t height, unsigned seed) {
  const std::size_t bytes = 3 * width * height;
  std::string file = "BM" + little_endian(54 + bytes, 4) + little_endian(0, 4) + little_endian(54, 4) +
                     little_endian(40, 4) + little_endian(width, 4) + little_endian(height, 4) + little_endian(1, 2) +
                     little_endian(24, 2) + std::string(24, '\0');
  std::mt19937 draw(seed);
  for (std::size_t i = 0; i < bytes; ++i) file += static_cast<char>(draw() % 256);
  return file;
}

inline void write_photo(const std::filesystem::path& file, unsigned seed, std::size_t width = 8,
                        std::size_t height = 6) {
  std::filesystem::create_directories(file.parent_path());
  write_text_file(file, bmp_photo(width, height, seed));
}

/// Features are the means of rows of a small input. Counts what it runs.
class BmpBackbone final : public Backbone {
 public:
  static constexpr ImageInput kInput{PixelPreset::tf, ImageFit::whole, 4, 4};

  std::size_t dimensions() const override { return 12; }
  std::string layer() const override { return "rows"; }
  std::string engine() const override { return "tests"; }

  std::string prepare(std::span<const std::byte> image, std::span<float> input) const override {
    const auto number = [&](std::size_t at) {
      return std::to_integer<std::size_t>(image[at]) | std::to_integer<std::size_t>(image[at + 1]) << 8;
    };
    const std::size_t width = number(18), height = number(22);
    if (image.size() != 54 + 3 * width * height) return "the file ends early";
    to_network_input({reinterpret_cast<const std::uint8_t*>(image.data()) + 54, width, height, 3 * width}, kInput,
                     input);
    return "";
  }

  std::string run(std::span<const float> inputs, std::size_t n, std::span<float> features) override {
    runs += n;
    for (std::size_t row = 0; row < 12 * n; ++row) {
      float sum = 0;
      for (std::size_t i = 0; i < 4; ++i) sum += inputs[4 * row + i];
      features[row] = sum / 4;
    }
    return "";
  }

  std::atomic<std::size_t> runs = 0;
};

inline FeatureSource source_of_bmp_backbone() {
  return {"bmp.onnx", std::string(64, 'a'), "rows", BmpBackbone::kInput, 12};
}

}  // namespace parsnets::test
