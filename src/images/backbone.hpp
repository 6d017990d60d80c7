#pragma once
// Backbone: a network that turns photographs into features. Implemented by the module parsnets-backbones, which is
// loaded where photographs are read: nothing else depends on OpenCV or ONNX Runtime.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "parsnets/feature_source.hpp"

namespace parsnets {

/// What runs networks. Their features differ by rounding.
enum class NetworkEngine { opencv, onnxruntime };

/// What is opened.
struct BackboneOptions {
  std::filesystem::path file;             ///< .onnx
  std::string layer;                      ///< output by name; empty: the last
  ImageInput input;                       ///< what the network is given
  unsigned threads = 0;                   ///< photographs that run() takes at a time; 0: one per core
  std::optional<NetworkEngine> engine{};  ///< empty: ONNX Runtime where the module has it, else OpenCV
  FeatureSource::Pooling pool{};          ///< over the positions of the layer
};

/// The problem of a photograph that may be fine: what is returned when memory is short.
inline constexpr const char* kNotEnoughMemory = "not enough memory";
/// The one problem of run() that is the photograph's: all others are the network's or the machine's.
inline constexpr const char* kNotFinite = "the network's output has values that are not finite";

/// A network in memory. Problems are returned as text (empty: none), not thrown: they cross the border of a module.
class Backbone {
 public:
  virtual ~Backbone() = default;
  /// Values per photograph.
  virtual std::size_t dimensions() const = 0;
  /// The output that is read.
  virtual std::string layer() const = 0;
  /// What runs it, with its version: "OpenCV 4.6.0".
  virtual std::string engine() const = 0;
  /// Decodes the bytes of one image file (turned upright by its EXIF orientation) into `input`, 3·height·width values,
  /// channel by channel. The caller has checked size and format (images/image_header.hpp). Thread-safe:
  /// when memory is short, calls wait for each other, and one that is alone returns kNotEnoughMemory.
  virtual std::string prepare(std::span<const std::byte> image, std::span<float> input) const = 0;
  /// `inputs`: n prepared ones, one after the other. `features`: n x dimensions(). A photograph has the same features,
  /// bit for bit, alone, in any batch and with any number of threads. Thread-safe: as many calls as BackboneOptions
  /// says work at a time, each in its thread, and each of them holds the network once.
  virtual std::string run(std::span<const float> inputs, std::size_t n, std::span<float> features) = 0;
};

extern "C" {
/// What the module exports. Null when the file cannot be used; `problem` then says what was expected and found.
using OpenBackbone = Backbone*(const BackboneOptions& options, std::string& problem);
/// Its name in the module.
inline constexpr const char* kOpenBackbone = "parsnets_open_backbone";
}

}  // namespace parsnets
