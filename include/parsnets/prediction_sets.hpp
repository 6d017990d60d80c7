#pragma once
// Prediction sets: the classes that a sample may be of, so that its own is among them with a stated probability
// (conformal prediction, Vovk et al. 2005; least ambiguous sets, Sadinle et al. 2019).
// A class is in the set of a sample if its confidence among all classes is at least the threshold of the class. The
// best class always is.
//
// A seen class with enough held-out samples has a threshold of its own: if new samples of the class are exchangeable
// with those, the class is in their sets with at least the stated probability, on average over draws of the held-out
// samples. Other seen classes share a threshold that gives this on average over the samples of all seen classes, not
// for each of these classes. Unseen classes share a threshold from validation classes. It holds as far as unseen
// classes behave like them, which nothing guarantees. The held-out samples are scored by models fitted without them,
// and the model itself was fitted on more: the probability is the stated one as far as they score alike. Gamma,
// temperature or classes that change after calibration void it.

#include <cstdint>
#include <span>
#include <vector>

namespace parsnets {

/// Confidences that held-out samples gave their own class among all classes of the bank, 1 where that was the best
/// (parsnets/open_set.hpp). By them a set of any coverage is made.
struct PredictionSets {
  std::vector<float> seen;                  ///< of samples of seen classes that the model was fitted without
  std::vector<std::uint32_t> seen_classes;  ///< as many: their classes, places in the bank, ascending
  std::vector<float> unseen;  ///< of samples of validation classes that the model was fitted without, ascending

  bool empty() const { return seen.empty() && unseen.empty(); }  ///< nothing was calibrated
  /// The thresholds of C classes, of which `is_seen` (C values) were trained on, for sets of a coverage strictly
  /// between 0 and 1. With n confidences it is the ⌈(n+1)·coverage⌉-th largest, or 0, which every class reaches, if
  /// there are not so many. They are the class's own where (n+1)·(1 − coverage) >= 5; otherwise those of all seen
  /// classes, and for unseen classes `unseen`. Throws usage for a coverage out of range or fewer classes than `seen`
  /// is of.
  std::vector<float> thresholds(double coverage, std::span<const std::uint8_t> is_seen) const;
  bool operator==(const PredictionSets&) const = default;  ///< every field
};

}  // namespace parsnets
