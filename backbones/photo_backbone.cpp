// A network, and decoders of photographs in processes of their own. OpenCV prints nothing, and no exception leaves the
// module.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <thread>

#include "backbones_module.hpp"
#include "decoding_memory.hpp"
#include "engine.hpp"
#include "engine_pool.hpp"
#include "images/image_header.hpp"
#include "onnx_outline.hpp"
#include "photo_decoders.hpp"
#include "quiet_thread.hpp"

namespace parsnets {

namespace {

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

/// Into memory of its size: a string that grows would take twice as much. Whether all of it could be read.
bool read_file(const std::filesystem::path& path, std::string& content) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  if (absent) return false;
  content.resize(size);
  std::ifstream file(path, std::ios::binary);
  return file.read(content.data(), static_cast<std::streamsize>(size)) &&
         file.peek() == std::ifstream::traits_type::eof();
}

class PhotoBackbone final : public Backbone {
 public:
  explicit PhotoBackbone(const BackboneOptions& options) : options_(options), decoders_(options.input) {}

  std::string open() {
    auto network = std::make_shared<std::string>();
    if (!read_file(options_.file, *network)) return "expected a readable file";
    OnnxOutline outline;
    std::string problem = read_outline(std::as_bytes(std::span(*network)), outline);
    if (problem.empty()) problem = outline.choose(options_.layer);
    if (problem.empty()) problem = outline.check_input(options_.input.width, options_.input.height);
    if (!problem.empty()) return problem;
    const bool maxima = options_.pool == FeatureSource::Pooling::both;
    const std::string value = maxima ? outline.before_average(options_.layer) : options_.layer;
    const bool is_output = std::ranges::count(outline.outputs, value) > 0;
    const EngineOptions settings{
        outline.inputs.front().name, value, is_output, outline.without_shape, options_.input.width,
        options_.input.height,       maxima};
    const unsigned most = options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
    engines_ =
        std::make_unique<EnginePool>([network = std::move(network), settings,
                                      engine = options_.engine] { return open_engine(engine, *network, settings); },
                                     most);
    std::vector<float> features;  // the length of its output is known once it has run
    engines_->run(std::vector<float>(values_per_input()), features);
    dimensions_ = features.size();
    decoders_.start();
    return "";
  }

  std::size_t dimensions() const override { return dimensions_; }
  std::string layer() const override { return options_.layer; }
  std::string engine() const override { return engines_->name(); }

  std::string prepare(std::span<const std::byte> image, std::span<float> input) const override {
    return problem_of([&]() -> std::string {
      if (image.empty() || input.size() != values_per_input()) return "expected an image and room for its pixels";
      const auto header = read_image_header(image);
      if (!header) return "the image has no size";
      const double pixels = static_cast<double>(header->width * header->height);
      const Taken memory(memory_, kDecodingBytesPerPixel * pixels);
      return memory.enough ? decoders_.decode(image, pixels, input) : kNotEnoughMemory;
    });
  }

  std::string run(std::span<const float> inputs, std::size_t n, std::span<float> features) override {
    return problem_of([&]() -> std::string {
      if (inputs.size() != n * values_per_input() || features.size() != n * dimensions_)
        return "expected as many inputs and rows of features as photographs";
      std::vector<float> row;
      for (std::size_t i = 0; i < n; ++i) {
        engines_->run(inputs.subspan(i * values_per_input(), values_per_input()), row);
        if (row.size() != dimensions_) return "the network's output changed its length";
        if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); })) return kNotFinite;
        std::ranges::copy(row, features.begin() + static_cast<std::ptrdiff_t>(i * dimensions_));
      }
      return "";
    });
  }

 private:
  std::size_t values_per_input() const { return 3 * options_.input.width * options_.input.height; }

  BackboneOptions options_;
  std::unique_ptr<EnginePool> engines_;
  std::size_t dimensions_ = 0;
  mutable DecodingMemory memory_;
  mutable PhotoDecoders decoders_;
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) Backbone* parsnets_open_backbone(const BackboneOptions& options,
                                                                        std::string& problem) {
  std::unique_ptr<PhotoBackbone> backbone;
  problem = problem_of([&] {
    silence_opencv();
    cv::setNumThreads(1);  // of decoders and networks: several photographs at a time use the cores
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
