#pragma once
// Prediction sets: the classes that a sample may be of, so that its own is among them with a stated probability.

#include <cstdint>
#include <vector>

namespace parsnets {

/// Confidences that held-out samples gave their own class among all classes of the bank
/// (parsnets/open_set.hpp). By them a set of any coverage is made.
struct PredictionSets {
  std::vector<float> seen;                  ///< of samples of seen classes that the model was fitted without
  std::vector<std::uint32_t> seen_classes;  ///< as many: their classes, places in the bank, ascending
  std::vector<float> unseen;  ///< of samples of validation classes that the model was fitted without, ascending

  bool empty() const { return seen.empty(); }              ///< nothing was calibrated
  bool operator==(const PredictionSets&) const = default;  ///< every field
};

}  // namespace parsnets
