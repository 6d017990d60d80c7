#include "network_process.hpp"

#include <stdexcept>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint64_t kMegabyte = 1 << 20, kSpareForNetworks = 512, kTimesTheFile = 4, kBytesPerPixel = 8 << 10;
constexpr unsigned kSecondsOfAnInput = 30, kInputSecondsPerMegabyte = 2, kInputsOfAProcess = 100,
                   kSilencePerSecond = 10;
constexpr const char* kNetworks = "network";

/// Engines hold the weights up to 2.5 times while they open a network. SECURITY.md states these limits.
std::uint64_t memory_for(std::uint64_t bytes, const NetworkWish& wish) {
  return kSpareForNetworks * kMegabyte + kTimesTheFile * bytes + kBytesPerPixel * wish.width * wish.height;
}

struct BrokeDown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

NetworkProcess::NetworkProcess(int file, std::uint64_t bytes, NetworkWish wish)
    : wish_(std::move(wish)),
      seconds_(kSecondsOfAnInput + kInputSecondsPerMegabyte * static_cast<unsigned>(bytes / kMegabyte)),
      decoder_("the network", kNetworks, file,
               {memory_for(bytes, wish_), kInputsOfAProcess * seconds_, kSilencePerSecond * seconds_}) {
  ask(NetworkQuestion::open, {}, [&](Channel& channel) {
    layer_ = channel.get_text(kLongestLayer);
    name_ = channel.get_text(kLongestLayer);
  });
}

void NetworkProcess::run(std::span<const float> input, std::vector<float>& features) {
  const auto take = [&](Channel& channel) {
    const std::uint64_t count = channel.get_number();
    if (count > kMostFeatures) throw ChannelEnded("more features than a network has");
    features.resize(count);
    channel.get(features.data(), count * sizeof(float));
  };
  try {
    ask(NetworkQuestion::run, input, take);
  } catch (const BrokeDown&) {  // what an earlier photograph did to the process is not the fault of this one
    ask(NetworkQuestion::run, input, take);
  }
}

void NetworkProcess::ask(NetworkQuestion question, std::span<const float> input,
                         const std::function<void(Channel&)>& take) {
  try {
    const auto exchange = [&](Channel& channel) {
      channel.put_number(static_cast<std::uint64_t>(question));
      wish_.put(channel);
      channel.put(input.data(), input.size_bytes());
      channel.send();
      if (!decoder_.has_more(channel)) throw ChannelEnded("no answer");
      take(channel);
      if (decoder_.has_more(channel)) throw ChannelEnded("more than its answer");
    };
    decoder_.ask(exchange, seconds_);
  } catch (const Error& error) {
    const BadInput parts = error.parts();
    if (error.code() != ErrorCode::bad_input) throw;
    if (parts.expected == kUsableNetwork) throw std::runtime_error(parts.found);
    throw BrokeDown("expected " + parts.expected + ", found " + parts.found);
  }
}

std::string engine_names_of_process() {
  std::string names;
  Decoder decoder("a network", kNetworks, -1, {memory_for(0, {}), kSecondsOfAnInput, 0});
  decoder.ask([&](Channel& channel) {
    channel.put_number(static_cast<std::uint64_t>(NetworkQuestion::names));
    channel.send();
    while (decoder.has_more(channel)) names = channel.get_text(kLongestLayer);
  });
  return names;
}

}  // namespace parsnets
