#include "images/pixels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace parsnets::test {

namespace {

/// Blue, green, red in rows that are longer than they need to be.
struct Photo {
  std::size_t width, height, row_bytes = 3 * width + 5;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(row_bytes * height, 255);

  std::uint8_t& at(std::size_t x, std::size_t y, std::size_t c) { return bytes[y * row_bytes + 3 * x + c]; }
  PixelView view() const { return {bytes.data(), width, height, row_bytes}; }
};

Photo random_photo(std::size_t width, std::size_t height, unsigned seed) {
  Photo photo{width, height};
  std::mt19937 draw(seed);
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c) photo.at(x, y, c) = static_cast<std::uint8_t>(draw() % 256);
  return photo;
}

std::vector<float> prepared(const Photo& photo, const ImageInput& input) {
  std::vector<float> values(3 * input.width * input.height, -99);
  to_network_input(photo.view(), input, values);
  return values;
}

double triangle(double position, double centre, double reach) {
  return std::max(0.0, 1.0 - std::abs((position - centre) / reach));
}

/// Pixel (x, y) of the photograph scaled to `width` x `height`: the mean of all its pixels, weighed in both directions.
double scaled_pixel(Photo& photo, std::size_t width, std::size_t height, std::size_t x, std::size_t y, std::size_t c) {
  const double across = double(photo.width) / double(width), down = double(photo.height) / double(height);
  double sum = 0, weights = 0;
  for (std::size_t v = 0; v < photo.height; ++v)
    for (std::size_t u = 0; u < photo.width; ++u) {
      const double weight = triangle(double(u) + 0.5, (double(x) + 0.5) * across, std::max(across, 1.0)) *
                            triangle(double(v) + 0.5, (double(y) + 0.5) * down, std::max(down, 1.0));
      sum += weight * photo.at(u, v, c);
      weights += weight;
    }
  return sum / weights;
}

}  // namespace

TEST(Pixels, PresetsOfOneColour) {
  Photo photo{5, 3};
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 5; ++x) {
      photo.at(x, y, 0) = 10;   // blue
      photo.at(x, y, 1) = 100;  // green
      photo.at(x, y, 2) = 200;  // red
    }
  const auto expect = [&](PixelPreset preset, double first, double second, double third) {
    for (const ImageFit fit : {ImageFit::centre, ImageFit::whole}) {
      const auto values = prepared(photo, {preset, fit, 8, 4});
      for (std::size_t i = 0; i < 32; ++i) {
        EXPECT_NEAR(values[i], first, 1e-4);
        EXPECT_NEAR(values[32 + i], second, 1e-4);
        EXPECT_NEAR(values[64 + i], third, 1e-4);
      }
    }
  };
  expect(PixelPreset::torchvision, (200 / 255.0 - 0.485) / 0.229, (100 / 255.0 - 0.456) / 0.224,
         (10 / 255.0 - 0.406) / 0.225);
  expect(PixelPreset::caffe, 10 - 103.939, 100 - 116.779, 200 - 123.68);
  expect(PixelPreset::tf, 200 / 127.5 - 1, 100 / 127.5 - 1, 10 / 127.5 - 1);
}

TEST(Pixels, TheSameSizeKeepsEveryPixel) {
  Photo photo = random_photo(7, 4, 1);
  const auto values = prepared(photo, {PixelPreset::caffe, ImageFit::whole, 7, 4});
  for (std::size_t y = 0; y < 4; ++y)
    for (std::size_t x = 0; x < 7; ++x) EXPECT_FLOAT_EQ(values[y * 7 + x], float(photo.at(x, y, 0)) - 103.939F);
}

TEST(Pixels, ScalingIsTheWeightedMeanOfThePixels) {
  for (const auto& [width, height, to_width, to_height] : std::vector<std::array<std::size_t, 4>>{
           {40, 31, 8, 7}, {5, 6, 12, 13}, {50, 4, 6, 9}, {3, 90, 7, 5}, {1, 1, 4, 4}, {17, 17, 16, 16}}) {
    Photo photo = random_photo(width, height, 2);
    const auto values = prepared(photo, {PixelPreset::caffe, ImageFit::whole, to_width, to_height});
    for (std::size_t y = 0; y < to_height; ++y)
      for (std::size_t x = 0; x < to_width; ++x)
        EXPECT_NEAR(values[(2 * to_height + y) * to_width + x] + 123.68,
                    scaled_pixel(photo, to_width, to_height, x, y, 2), 1e-3);
  }
}

TEST(Pixels, TheCentreOfTheScaledPhotograph) {
  // 448 x 448 of input: the shorter side becomes 512; 90 x 60 becomes 768 x 512, less 160 and 32 on each side
  Photo photo = random_photo(90, 60, 3);
  const auto values = prepared(photo, {PixelPreset::caffe, ImageFit::centre, 448, 448});
  for (const auto& [x, y] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {447, 0}, {200, 300}, {447, 447}})
    EXPECT_NEAR(values[y * 448 + x] + 103.939, scaled_pixel(photo, 768, 512, x + 160, y + 32, 0), 1e-2);
  // an upright photograph, and an input that is not square: 14 x 7 needs 16 x 8; 20 x 40 becomes 16 x 32
  Photo upright = random_photo(20, 40, 4);
  const auto wide = prepared(upright, {PixelPreset::caffe, ImageFit::centre, 14, 7});
  for (const auto& [x, y] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {13, 6}, {5, 3}})
    EXPECT_NEAR(wide[y * 14 + x] + 103.939, scaled_pixel(upright, 16, 32, x + 1, y + 12, 0), 1e-3);
}

TEST(Pixels, ExtremeProportionsNeedNoMoreMemoryThanTheInput) {
  Photo line{60'000, 1, 180'000};
  for (std::size_t x = 0; x < line.width; ++x) line.at(x, 0, 0) = static_cast<std::uint8_t>(x * 255 / 59'999);
  for (const ImageFit fit : {ImageFit::centre, ImageFit::whole}) {
    const auto values = prepared(line, {PixelPreset::caffe, fit, 224, 224});
    EXPECT_NEAR(values[112 * 224 + 112] + 103.939, 127.5, 1.5);
    for (const float value : values) EXPECT_TRUE(std::isfinite(value));
  }
}

}  // namespace parsnets::test
