#pragma once
// Photographs are decoded by processes that can do nothing else (decode/).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/decoder.hpp"
#include "parsnets/feature_source.hpp"

namespace parsnets {

/// As many as are used at a time, each for many photographs. Thread-safe.
class PhotoDecoders {
 public:
  explicit PhotoDecoders(const ImageInput& input) : input_(input) {}

  /// Starts one, so that one that is missing is known before the work. Throws failure.
  void start();
  /// `image` has so many pixels by its header. Returns its problem as Backbone::prepare() does.
  std::string decode(std::span<const std::byte> image, double pixels, std::span<float> input);

 private:
  struct Process {
    std::uint64_t memory;  ///< bytes that it may take
    Decoder decoder;
  };
  std::string decode_once(std::span<const std::byte> image, double pixels, std::span<float> input, bool& broke_down);
  std::unique_ptr<Process> take(std::uint64_t memory);
  void give_back(std::unique_ptr<Process> process);

  ImageInput input_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Process>> idle_;
};

}  // namespace parsnets
