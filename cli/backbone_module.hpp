#pragma once
// The module that turns photographs into features, and the networks that it opens.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "images/backbone.hpp"
#include "images/image_header.hpp"
#include "parsnets/progress.hpp"

namespace parsnets::cli {

/// The backbone of photographs when none is named.
inline constexpr const char* kUsualBackbone = "mobilenet";

/// What the command line says of a backbone. What it expects is in the preprocessing file NAME.json beside NAME.onnx;
/// without one, as in ImageInput.
struct BackboneChoice {
  std::filesystem::path file;  ///< or the name of a known one
  bool recorded = false;       ///< that of the model, wherever it is found
  bool trust = false;          ///< to be used with models that do not record which one made their features
  std::optional<FeatureSource::Pooling> pool{};  ///< empty: as its preprocessing file says
  int max_pixels = static_cast<int>(ImageLimits().max_pixels);
  unsigned threads = 0;            ///< that run it at a time; 0: one per core
  std::uint64_t memory_limit = 0;  ///< bytes of the process; 0: none
  std::size_t max_bytes = ImageLimits().max_bytes;

  /// Whether photographs are read.
  bool given() const { return recorded || !file.empty(); }
  /// Of the photographs that these threads decode.
  ImageLimits limits() const { return {max_bytes, static_cast<std::size_t>(max_pixels)}; }
};

/// --backbone
void add_backbone_option(OptionTable& options, BackboneChoice& choice);
/// --max-pixels
void add_max_pixels(OptionTable& options, BackboneChoice& choice);

struct OpenedBackbone {
  std::unique_ptr<Backbone> backbone;
  FeatureSource source;
  double bytes = 0;  ///< that decoding photographs and running it take at most, beside what is held now
};

/// Throws usage when this build has no such module or the memory limit is too low, bad_input when the network cannot be
/// used.
OpenedBackbone open_backbone(const BackboneChoice& choice, ProgressObserver* progress = nullptr);

/// For photographs that a model judges: the settings are those that made its features. Throws bad_input when the file
/// is another network than `trained`, and when that is not known unless it is trusted; then the settings are those of
/// the preprocessing file.
OpenedBackbone open_backbone_of(const std::optional<FeatureSource>& trained, const BackboneChoice& choice,
                                ProgressObserver* progress = nullptr);

/// For doctor: what runs networks in this build, the first by default. Empty when there is no module for photographs,
/// or when it does not load; then `problem` says why.
std::vector<std::string> backbone_engines(std::string& problem);

}  // namespace parsnets::cli
