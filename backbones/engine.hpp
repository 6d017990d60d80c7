#pragma once
// What runs a network: OpenCV, and ONNX Runtime where it is built with it; and the process that has one of these.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "images/backbone.hpp"

namespace parsnets {

/// Throws std::exception. Not thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string name() const = 0;
  /// One photograph at a time: batches would round it in other ways than alone, and many networks take no other.
  /// `features` becomes as long as the network's output; an output with positions is pooled over them. Uses the
  /// calling thread alone.
  virtual void run(std::span<const float> input, std::vector<float>& features) = 0;
};

struct EngineOptions {
  std::string input, layer;     ///< names of values of the graph
  bool layer_is_output = true;  ///< false: the engine makes it one (output_to_append)
  std::string without_shape;    ///< an output of which the file does not say the shape; empty: none
  std::size_t width, height;    ///< of the input
  bool maxima = false;          ///< the maxima over positions follow their averages
};

/// `network`: the bytes of an ONNX file.
std::unique_ptr<Engine> open_opencv_engine(const std::string& network, const EngineOptions& options);
/// "OpenCV 4.6.0"
std::string opencv_name();

/// In builds with it, as the next ones.
std::unique_ptr<Engine> open_onnxruntime_engine(const std::string& network, const EngineOptions& options);
/// "ONNX Runtime 1.20.1"
std::string onnxruntime_name();
void prepare_onnxruntime();

/// By the wanted engine, or by the first of engine_names(). Throws when this build lacks it.
std::unique_ptr<Engine> open_engine(std::optional<NetworkEngine> wanted, const std::string& network,
                                    const EngineOptions& options);
/// Of this build: "ONNX Runtime 1.20.1,OpenCV 4.6.0", or OpenCV alone.
std::string engine_names();
/// Call before the sandbox is entered: ONNX Runtime looks at the machine when it is first used.
void prepare_engines();

/// Of an output of this shape, batch first: a value per channel, the mean over positions, and with `maxima` then their
/// maxima. Throws for other shapes, and for maxima of a single position.
void pool_positions(std::span<const float> values, const std::vector<std::int64_t>& shape, bool maxima,
                    std::vector<float>& features);

}  // namespace parsnets
