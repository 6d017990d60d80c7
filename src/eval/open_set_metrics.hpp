#pragma once
// Metrics of open-set recognition: how well a score tells samples of known classes from others. Samples with a score of
// at least the threshold are accepted. All rates and areas are in percent. Scores may be infinite; bad_input is thrown
// for nan, and unless there are scores of both kinds.

#include <cstdint>
#include <span>
#include <vector>

namespace parsnets {

/// The probability that a known sample scores higher than an unknown one, ties counted half: the area under the ROC
/// curve.
double auroc(std::span<const float> known, std::span<const float> unknown);

/// Share of unknown samples that are accepted at the highest threshold that accepts at least the share
/// `true_positive_rate` (above 0, at most 1; else usage) of the known ones. Samples at the threshold are accepted, so
/// ties there accept more of both.
double false_positive_rate(std::span<const float> known, std::span<const float> unknown,
                           double true_positive_rate = 0.95);

/// What is accepted at a threshold.
struct AcceptancePoint {
  float threshold = 0;  ///< the highest one with these rates; of the first point, one just above the next point's
  double unknown = 0;   ///< share of unknown samples that are accepted: the false positive rate
  double known = 0;     ///< share of known samples that are accepted or, for OSCR, accepted and given the right class
};

/// Every distinct point of the ROC curve, by falling threshold: from none accepted to all.
std::vector<AcceptancePoint> roc_curve(std::span<const float> known, std::span<const float> unknown);

/// Open-set classification rate.
struct Oscr {
  double area = 0;                     ///< under the curve; at most the share of known samples given the right class
  std::vector<AcceptancePoint> curve;  ///< every distinct point, by falling threshold
};
/// Correct classification rate of known samples over the false positive rate of unknown ones (Dhamija et al., NeurIPS
/// 2018). `right`: one per known score, 1 where the sample is given the right class (else bad_input). The area is the
/// trapezoid sum over distinct thresholds: ties count half.
Oscr oscr(std::span<const float> known, std::span<const std::uint8_t> right, std::span<const float> unknown);

/// At most `most` (at least 2, else usage) points of a curve, the first and the last among them, spread evenly over the
/// sum of the two rates. Areas are those of the whole curve: take them from that.
std::vector<AcceptancePoint> thinned(std::span<const AcceptancePoint> curve, std::size_t most);

}  // namespace parsnets
