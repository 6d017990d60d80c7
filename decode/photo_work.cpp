#include <array>
#include <vector>

#include "network_work.hpp"
#include "parsnets/error.hpp"
#include "photo_decoding.hpp"
#include "work.hpp"

namespace parsnets::decode {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32, kLongestSide = 1 << 14;

[[noreturn]] void serve_photos(Channel& channel) {
  std::vector<std::byte> image;
  std::vector<float> pixels;
  for (;;) {
    std::array<std::uint64_t, 5> numbers{};
    for (auto& number : numbers) number = channel.get_number();
    const auto [preset, fit, width, height, bytes] = numbers;
    if (width > kLongestSide || height > kLongestSide || bytes > kMostBytes) throw ChannelEnded("too large");
    image.resize(bytes);
    channel.get(image.data(), bytes);
    answer(channel, [&] {
      pixels.resize(3 * width * height);
      const ImageInput what{static_cast<PixelPreset>(preset), static_cast<ImageFit>(fit), width, height};
      const std::string problem = decode_photo(image, what, pixels);
      if (!problem.empty()) throw Error(BadInput{"", "", kCompleteImage, problem, ""});
      put_reply(channel, DecoderReply::more);
      channel.put(pixels.data(), pixels.size() * sizeof(float));
    });
    if (image.capacity() > (16u << 20)) image = {};
  }
}

}  // namespace

Work open_work(std::string_view name) {
  if (name == "network") return open_network_work();
  if (name != "photos") return {};
  prepare_decoding();
  return serve_photos;
}

}  // namespace parsnets::decode
