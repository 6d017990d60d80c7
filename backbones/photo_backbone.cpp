// A network, and decoders of photographs, in processes of their own. No exception leaves the module.

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include "backbones_module.hpp"
#include "base/file.hpp"
#include "decoding_memory.hpp"
#include "engine_pool.hpp"
#include "images/image_header.hpp"
#include "network_process.hpp"
#include "photo_decoders.hpp"

namespace parsnets {

namespace {

/// The text of any exception.
template <class Work>
std::string problem_of(Work work) {
  try {
    return work();
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

class PhotoBackbone final : public Backbone {
 public:
  explicit PhotoBackbone(const BackboneOptions& options) : options_(options), decoders_(options.input) {}

  std::string open() {
    Descriptor opened(::open(options_.file.c_str(), O_RDONLY | O_CLOEXEC));
    std::error_code unknown;
    const std::uintmax_t bytes = std::filesystem::file_size(options_.file, unknown);
    if (opened < 0 || unknown) return "expected a readable file";
    file_ = std::move(opened);
    NetworkWish wish{options_.layer, options_.input.width, options_.input.height,
                     options_.pool == FeatureSource::Pooling::both ? 1u : 0u,
                     options_.engine ? 1 + static_cast<std::uint64_t>(*options_.engine) : 0};
    auto first = std::make_unique<NetworkProcess>(file_, bytes, wish);
    options_.layer = wish.layer = first->layer();
    const unsigned most = options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
    engines_ = std::make_unique<EnginePool>(
        std::move(first), [this, bytes, wish] { return std::make_unique<NetworkProcess>(file_, bytes, wish); }, most);
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
  Descriptor file_;
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
    backbone = std::make_unique<PhotoBackbone>(options);
    return backbone->open();
  });
  return problem.empty() ? backbone.release() : nullptr;
}

__attribute__((visibility("default"))) const char* parsnets_backbone_engines() {
  static std::string names;
  problem_of([] { return names = engine_names_of_process(); });
  return names.c_str();
}
}

}  // namespace parsnets
