#pragma once
// Samples that the server holds, so that a request can name them in place of features.

#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// The bytes of an image file.
struct Picture {
  std::string bytes, type;  ///< type: media type
};

struct ServedSample {
  std::string name;   ///< image file, or its number in the data set
  std::string label;  ///< class
  bool seen = false;  ///< whether the model was trained on that class
};

struct ServedSamples {
  std::vector<ServedSample> samples;
  Matrix<float> features;                         ///< one row each
  Picture sheet;                                  ///< thumbnails.jpg or .png; or empty
  std::size_t sheet_columns = 0, sheet_size = 0;  ///< photographs in a row, and pixels of a side of one
  std::vector<std::size_t> sheet_places;          ///< of each sample, its photograph in the sheet
  std::vector<Picture> pictures;                  ///< of each sample; empty: not all of them have one
};

/// Test samples of a data set, or those of training where it has none, evenly spread over its classes, at most `most`,
/// in the order of the classes. `folder`: where it was read from. `images`: where its image files are. Throws bad_input
/// when the features do not fit the model, or for a broken sheet.
ServedSamples choose_samples(const Dataset& data, const Model& model, const std::filesystem::path& folder,
                             const std::filesystem::path& images, std::size_t most);

}  // namespace parsnets
