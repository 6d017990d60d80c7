#pragma once
// A network in a process that can do nothing else: an ONNX file is a stranger's program (decode/).

#include <cstdint>
#include <string>

#include "base/decoder.hpp"
#include "engine.hpp"

namespace parsnets {

/// What the process is asked; all but the names are followed by a NetworkWish, and the last one by the input.
enum class NetworkQuestion : std::uint64_t { names = 1, open, run };

/// What a network should be that is refused.
inline constexpr const char* kUsableNetwork = "a usable network";
inline constexpr std::uint64_t kMostFeatures = std::uint64_t{1} << 24, kLongestLayer = 64 << 10;

struct NetworkWish {
  std::string layer;  ///< empty: the last output
  std::uint64_t width = 0, height = 0;
  std::uint64_t maxima = 0;  ///< follow the averages over positions
  std::uint64_t engine = 0;  ///< 1 + NetworkEngine; 0: the first of engine_names()

  void put(Channel& channel) const {
    channel.put_text(layer);
    for (const auto number : {width, height, maxima, engine}) channel.put_number(number);
  }
  static NetworkWish get(Channel& channel) {
    NetworkWish wish;
    wish.layer = channel.get_text(kLongestLayer);
    for (auto* number : {&wish.width, &wish.height, &wish.maxima, &wish.engine}) *number = channel.get_number();
    return wish;
  }
};

/// Not thread-safe. Its methods throw std::exception with what is wrong.
class NetworkProcess final : public Engine {
 public:
  /// `file`: a descriptor of an ONNX file of so many bytes, which must live as long as this object.
  NetworkProcess(int file, std::uint64_t bytes, NetworkWish wish);

  std::string name() const override { return name_; }
  /// The output that is read.
  const std::string& layer() const { return layer_; }
  void run(std::span<const float> input, std::vector<float>& features) override;

 private:
  void ask(NetworkQuestion question, std::span<const float> input, const std::function<void(Channel&)>& take);

  NetworkWish wish_;
  unsigned seconds_;
  Decoder decoder_;
  std::string name_, layer_;
};

/// As engine_names(), by the process. Throws failure where it cannot be started.
std::string engine_names_of_process();

}  // namespace parsnets
