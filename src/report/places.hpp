#pragma once
// Unseen classes where the model expects them, beside where their test samples lie. Test labels are read to show this,
// after training.

#include "report/run_figures.hpp"

namespace parsnets {

struct UnseenPlaces {
  std::vector<std::int32_t> classes;  ///< u, unseen classes of the data set that have test samples, ascending
  Matrix<float> places;               ///< u x o, class vectors of the model
  Matrix<float> means;                ///< u x o, means of the mapped test samples
};
/// Nothing (u = 0) for models that do not compare class vectors by cosine.
UnseenPlaces unseen_places(const Model& model, const Dataset& data, const RunSamples& samples);

/// Cosines of each mean with its own place and with the nearest places of other classes. Null for u = 0.
Json places_json(const Model& model, const Dataset& data, const RunSamples& samples, const UnseenPlaces& unseen);

}  // namespace parsnets
