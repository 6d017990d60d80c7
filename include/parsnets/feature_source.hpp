#pragma once
// FeatureSource: what made the features of a data set out of photographs, so that features of different networks are
// not mixed.

#include <cstddef>
#include <string>

namespace parsnets {

/// What a network expects of the colours of its input.
enum class PixelPreset {
  torchvision,  ///< red, green, blue in 0..1, minus (0.485, 0.456, 0.406), divided by (0.229, 0.224, 0.225)
  caffe,        ///< blue, green, red in 0..255, minus (103.939, 116.779, 123.68)
  tf            ///< red, green, blue in -1..1
};

/// Which part of a photograph a network sees.
enum class ImageFit {
  centre,  ///< the shorter side is scaled to 256/224 of the input's, then the centre is cut out, as torchvision does
  whole    ///< all of it is scaled to the input's size, whatever its proportions
};

/// How a photograph becomes the input of a network.
struct ImageInput {
  PixelPreset preset = PixelPreset::torchvision;       ///< colours
  ImageFit fit = ImageFit::whole;                      ///< the part that is seen
  std::size_t width = 224, height = 224;               ///< pixels
  bool operator==(const ImageInput&) const = default;  ///< every field
};

/// A network and what is asked of it.
struct FeatureSource {
  /// What becomes of the positions of a photograph: their average, or their average and, after it, their maximum.
  enum class Pooling { average, both };

  std::string backbone;             ///< file name of the network, for messages
  std::string sha256;               ///< of that file, 64 hexadecimal digits
  std::string layer;                ///< its output that features are read from; pooling both: from what it averages
  ImageInput input;                 ///< what it is given
  std::size_t dimensions = 0;       ///< values per photograph
  Pooling pool = Pooling::average;  ///< over positions
  std::string file = {}, photographs = {};  ///< where both were, absolute paths, to be found again; empty: not known

  /// Whether features of both are comparable: all but names and paths is the same.
  bool makes_features_of(const FeatureSource& other) const {
    return sha256 == other.sha256 && layer == other.layer && input == other.input && dimensions == other.dimensions &&
           pool == other.pool;
  }
  bool operator==(const FeatureSource&) const = default;  ///< every field
};

}  // namespace parsnets
