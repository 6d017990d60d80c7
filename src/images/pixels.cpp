#include "images/pixels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace parsnets {

namespace {

/// Which of the source pixels of a row (or column) make one pixel of the output, and with which weights.
struct Tap {
  std::size_t first = 0;
  std::vector<float> weights;
};

/// A triangle as wide as the pixels that become one, at least two of them: output pixel i has its centre at
/// (i + 0.5) · source / scaled.
std::vector<Tap> taps_of(std::size_t source, std::size_t scaled, std::size_t begin, std::size_t count) {
  const double scale = static_cast<double>(source) / static_cast<double>(scaled), reach = std::max(scale, 1.0);
  std::vector<Tap> taps(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(begin + i) + 0.5) * scale;
    const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(centre - reach)));
    const std::size_t end = std::min(source, static_cast<std::size_t>(std::ceil(centre + reach)));
    double sum = 0;
    std::vector<double> weights;
    for (std::size_t s = first; s < end; ++s) {
      weights.push_back(std::max(0.0, 1.0 - std::abs((static_cast<double>(s) + 0.5 - centre) / reach)));
      sum += weights.back();
    }
    taps[i].first = first;
    for (const double weight : weights) taps[i].weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

/// The size that the whole photograph is scaled to, and the part of it that is kept.
struct Cut {
  std::size_t width, height, left, top;
};

Cut cut_of(const PixelView& pixels, const ImageInput& input) {
  if (input.fit == ImageFit::whole) return {input.width, input.height, 0, 0};
  const auto with_border = [](std::size_t side) { return std::round(static_cast<double>(side) * 256 / 224); };
  const double source_width = static_cast<double>(pixels.width), source_height = static_cast<double>(pixels.height);
  const double across = with_border(input.width) / source_width, down = with_border(input.height) / source_height;
  Cut cut{};
  // torchvision rounds the longer side down
  cut.width = across >= down ? static_cast<std::size_t>(with_border(input.width))
                             : static_cast<std::size_t>(source_width * with_border(input.height) / source_height);
  cut.height = across >= down ? static_cast<std::size_t>(source_height * with_border(input.width) / source_width)
                              : static_cast<std::size_t>(with_border(input.height));
  cut.width = std::max(cut.width, input.width);
  cut.height = std::max(cut.height, input.height);
  const auto half = [](std::size_t rest) {  // as Python rounds: to even
    return rest / 2 + (rest % 4 == 3 ? 1 : 0);
  };
  cut.left = half(cut.width - input.width);
  cut.top = half(cut.height - input.height);
  return cut;
}

/// value = colour · scale − shift, per channel of the output.
struct Colours {
  std::array<std::size_t, 3> channel;  ///< of blue, green, red
  std::array<float, 3> scale, shift;
};

Colours colours_of(PixelPreset preset) {
  if (preset == PixelPreset::caffe) return {{0, 1, 2}, {1, 1, 1}, {103.939F, 116.779F, 123.68F}};
  if (preset == PixelPreset::tf) return {{2, 1, 0}, {1 / 127.5F, 1 / 127.5F, 1 / 127.5F}, {1, 1, 1}};
  return {{2, 1, 0},
          {1 / (255 * 0.229F), 1 / (255 * 0.224F), 1 / (255 * 0.225F)},
          {0.485F / 0.229F, 0.456F / 0.224F, 0.406F / 0.225F}};
}

/// The rows of a photograph that make one of the output, from byte `begin` to `end` of each, added up.
void add_rows(const PixelView& pixels, const Tap& tap, std::size_t begin, std::size_t end, std::span<float> sum) {
  std::ranges::fill(sum, 0.0F);
  for (std::size_t k = 0; k < tap.weights.size(); ++k) {
    const std::uint8_t* row = pixels.data + (tap.first + k) * pixels.row_bytes + begin;
    const float weight = tap.weights[k];
    for (std::size_t i = 0; i < end - begin; ++i) sum[i] += weight * static_cast<float>(row[i]);
  }
}

}  // namespace

void to_network_input(const PixelView& pixels, const ImageInput& input, std::span<float> values) {
  const Cut cut = cut_of(pixels, input);
  const auto across = taps_of(pixels.width, cut.width, cut.left, input.width);
  const auto down = taps_of(pixels.height, cut.height, cut.top, input.height);
  const Colours colours = colours_of(input.preset);
  const std::size_t plane = input.width * input.height;
  const std::size_t begin = 3 * across.front().first, end = 3 * (across.back().first + across.back().weights.size());
  std::vector<float> row(end - begin);
  for (std::size_t y = 0; y < input.height; ++y) {
    add_rows(pixels, down[y], begin, end, row);
    for (std::size_t x = 0; x < input.width; ++x) {
      std::array<float, 3> colour{};
      const float* pixel = row.data() + 3 * across[x].first - begin;
      for (const float weight : across[x].weights)
        for (float& part : colour) part += weight * *pixel++;
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t to = colours.channel[c];
        values[to * plane + y * input.width + x] = colour[c] * colours.scale[to] - colours.shift[to];
      }
    }
  }
}

}  // namespace parsnets
