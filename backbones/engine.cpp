#include "engine.hpp"

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
#else
std::unique_ptr<Engine> open_engine(std::optional<NetworkEngine> wanted, const std::string& network,
                                    const EngineOptions& options) {
  if (wanted == NetworkEngine::onnxruntime) throw std::runtime_error("this build has no ONNX Runtime");
  return open_opencv_engine(network, options);
}

std::string engine_names() { return opencv_name(); }
#endif

void average_positions(std::span<const float> values, const std::vector<std::int64_t>& shape,
                       std::vector<float>& features) {
  std::string text;
  for (const auto size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  if ((shape.size() != 2 && shape.size() != 4) || shape[0] != 1 || shape[1] < 1 || values.empty())
    throw std::runtime_error("expected a layer of 1 x features or 1 x channels x height x width, found " +
                             (text.empty() ? "a single value" : text) +
                             "; choose another layer in the preprocessing file NAME.json");
  const auto channels = static_cast<std::size_t>(shape[1]);
  const std::size_t positions = values.size() / channels;
  features.resize(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (const float value : values.subspan(c * positions, positions)) sum += static_cast<double>(value);
    features[c] = static_cast<float>(sum / static_cast<double>(positions));
  }
}

}  // namespace parsnets
