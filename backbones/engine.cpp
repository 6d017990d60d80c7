#include "engine.hpp"

#include <algorithm>
#include <stdexcept>

#include "parsnets/error.hpp"

namespace parsnets {

#ifdef PARSNETS_ONNXRUNTIME
std::unique_ptr<Engine> open_engine(std::optional<NetworkEngine> wanted, const std::string& network,
                                    const EngineOptions& options) {
  return wanted == NetworkEngine::opencv ? open_opencv_engine(network, options)
                                         : open_onnxruntime_engine(network, options);
}

std::string engine_names() { return onnxruntime_name() + "," + opencv_name(); }
void prepare_engines() { prepare_onnxruntime(); }
#else
std::unique_ptr<Engine> open_engine(std::optional<NetworkEngine> wanted, const std::string& network,
                                    const EngineOptions& options) {
  if (wanted == NetworkEngine::onnxruntime) throw std::runtime_error("this build has no ONNX Runtime");
  return open_opencv_engine(network, options);
}

std::string engine_names() { return opencv_name(); }
void prepare_engines() {}
#endif

void pool_positions(std::span<const float> values, const std::vector<std::int64_t>& shape, bool maxima,
                    std::vector<float>& features) {
  std::string text;
  for (const auto size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  const auto refuse = [&](const std::string& expected) {
    throw std::runtime_error("expected a layer of " + expected + ", found " + (text.empty() ? "a single value" : text) +
                             "; choose another layer in the preprocessing file NAME.json");
  };
  if ((shape.size() != 2 && shape.size() != 4) || shape[0] != 1 || shape[1] < 1 || values.empty())
    refuse("1 x features or 1 x channels x height x width");
  const auto channels = static_cast<std::size_t>(shape[1]);
  const std::size_t positions = values.size() / channels;
  if (maxima && positions < 2) refuse("several positions, which average and maximum pooling need");
  features.resize(maxima ? 2 * channels : channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto of_channel = values.subspan(c * positions, positions);
    double sum = 0;
    for (const float value : of_channel) sum += static_cast<double>(value);
    features[c] = static_cast<float>(sum / static_cast<double>(positions));
    if (maxima) features[channels + c] = std::ranges::max(of_channel);
  }
}

}  // namespace parsnets
