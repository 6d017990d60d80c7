// A network and a decoder of photographs. OpenCV prints nothing, and no exception leaves the module.

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <mutex>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>

#include "backbones_module.hpp"
#include "decoding_memory.hpp"
#include "engine.hpp"
#include "images/decoding_bytes.hpp"
#include "images/image_header.hpp"
#include "images/pixels.hpp"
#include "images/webp_orientation.hpp"
#include "onnx_outline.hpp"
#include "quiet_thread.hpp"

namespace parsnets {

namespace {

constexpr int kStays = 2;  // no code of cv::flip

void silence_opencv() {
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; });
}

/// The text of any exception; of OpenCV's without its source file. Prints nothing.
template <class Work>
std::string problem_of(Work work) {
  const QuietThread quiet;
  try {
    return work();
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) return kNotEnoughMemory;
    return error.err.empty() ? "OpenCV failed" : error.err;
  } catch (const std::bad_alloc&) {
    return kNotEnoughMemory;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown failure";
  }
}

/// Memory of one photograph.
struct Taken {
  Taken(DecodingMemory& all, double of_pixels)
      : memory(all), bytes(static_cast<std::size_t>(of_pixels) + kSmallParts), enough(all.take(bytes)) {}
  ~Taken() {
    if (enough) memory.give_back(bytes);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  static constexpr std::size_t kSmallParts = std::size_t{4} << 20;  // tables and rows of decoders
  DecodingMemory& memory;
  std::size_t bytes;
  bool enough;
};

/// 8 bits, three channels, upright; empty: damaged.
cv::Mat decoded(std::span<const std::byte> image, ImageFormat format) {
  const cv::Mat bytes(1, static_cast<int>(image.size()), CV_8U,
                      const_cast<std::byte*>(image.data()));  // which it does not change
  if (format != ImageFormat::webp) return cv::imdecode(bytes, cv::IMREAD_COLOR);
  // OpenCV 4.6 leaves WebP images as they are.
  cv::Mat pixels = cv::imdecode(bytes, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
  const int orientation = webp_orientation(image);
  if (orientation == 1 || pixels.empty()) return pixels;
  cv::Mat upright;
  if (orientation >= 5)
    cv::transpose(pixels, upright);
  else
    upright = pixels;
  pixels.release();
  constexpr std::array<int, 9> kFlip{0, kStays, 1, -1, 0, kStays, 1, -1, 0};  // around y, both, x
  const int flip = kFlip[static_cast<std::size_t>(orientation)];
  if (flip != kStays) cv::flip(upright, upright, flip);
  return upright;
}

class PhotoBackbone final : public Backbone {
 public:
  explicit PhotoBackbone(const BackboneOptions& options) : options_(options) {}

  std::string open() {
    std::ifstream file(options_.file, std::ios::binary);
    std::string network{std::istreambuf_iterator<char>(file), {}};
    if (!file) return "expected a readable file";
    OnnxOutline outline;
    std::string problem = read_outline(std::as_bytes(std::span(network)), outline);
    if (problem.empty()) problem = outline.choose(options_.layer);
    if (problem.empty()) problem = outline.check_input(options_.input.width, options_.input.height);
    if (!problem.empty()) return problem;
    const bool is_output = std::ranges::count(outline.outputs, options_.layer) > 0;
    engine_ = open_engine(options_.engine, std::move(network),
                          {outline.inputs.front().name, options_.layer, is_output, options_.input.width,
                           options_.input.height, options_.threads});
    std::vector<float> features;  // the length of its output is known once it has run
    engine_->run(std::vector<float>(values_per_input()), features);
    dimensions_ = features.size();
    return "";
  }

  std::size_t dimensions() const override { return dimensions_; }
  std::string layer() const override { return options_.layer; }
  std::string engine() const override { return engine_->name(); }

  std::string prepare(std::span<const std::byte> image, std::span<float> input) const override {
    return problem_of([&]() -> std::string {
      if (image.empty() || input.size() != values_per_input()) return "expected an image and room for its pixels";
      const auto header = read_image_header(image);
      if (!header) return "the image has no size";
      const Taken memory(memory_, kDecodingBytesPerPixel * static_cast<double>(header->width * header->height));
      if (!memory.enough) return kNotEnoughMemory;
      const cv::Mat pixels = decoded(image, header->format);
      if (pixels.empty() || pixels.type() != CV_8UC3)
        return can_allocate(memory.bytes) ? "the image is damaged or of an unknown variant" : kNotEnoughMemory;
      to_network_input({pixels.ptr<std::uint8_t>(), static_cast<std::size_t>(pixels.cols),
                        static_cast<std::size_t>(pixels.rows), pixels.step[0]},
                       options_.input, input);
      return "";
    });
  }

  std::string run(std::span<const float> inputs, std::size_t n, std::span<float> features) override {
    const std::lock_guard lock(running_);
    return problem_of([&]() -> std::string {
      if (inputs.size() != n * values_per_input() || features.size() != n * dimensions_)
        return "expected as many inputs and rows of features as photographs";
      std::vector<float> row;
      for (std::size_t i = 0; i < n; ++i) {
        engine_->run(inputs.subspan(i * values_per_input(), values_per_input()), row);
        if (row.size() != dimensions_) return "the network's output changed its length";
        if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); }))
          return "the network's output has values that are not finite";
        std::ranges::copy(row, features.begin() + static_cast<std::ptrdiff_t>(i * dimensions_));
      }
      return "";
    });
  }

 private:
  std::size_t values_per_input() const { return 3 * options_.input.width * options_.input.height; }

  BackboneOptions options_;
  std::unique_ptr<Engine> engine_;
  std::size_t dimensions_ = 0;
  std::mutex running_;
  mutable DecodingMemory memory_;
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) Backbone* parsnets_open_backbone(const BackboneOptions& options,
                                                                        std::string& problem) {
  std::unique_ptr<PhotoBackbone> backbone;
  problem = problem_of([&] {
    silence_opencv();
    cv::setNumThreads(options.threads == 0 ? -1 : static_cast<int>(options.threads));
    backbone = std::make_unique<PhotoBackbone>(options);
    return backbone->open();
  });
  return problem.empty() ? backbone.release() : nullptr;
}

__attribute__((visibility("default"))) const char* parsnets_backbone_engines() {
  static const std::string names = engine_names();
  return names.c_str();
}
}

}  // namespace parsnets
