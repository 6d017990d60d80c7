#pragma once
// Metrics of open-set recognition: how well a score tells samples of known classes from others. Samples with a score of
// at least the threshold are accepted. All rates and areas are in percent. Scores may be infinite; bad_input is thrown
// for nan, and unless there are scores of both kinds.

#include <cstdint>
#include <span>
#include <vector>

namespace parsnets {

/// What is accepted at a threshold.
struct AcceptancePoint {
  double unknown = 0;  ///< share of unknown samples that are accepted: the false positive rate
  double known = 0;    ///< share of known samples that are accepted or, for OSCR, accepted and given the right class
};

/// Every distinct point, by falling threshold: from none accepted to all.
struct AcceptanceCurve {
  double area = 0;  ///< under the curve: the trapezoid sum over distinct thresholds, so ties count half
  std::vector<AcceptancePoint> points;
};

/// The area is the probability that a known sample scores higher than an unknown one.
AcceptanceCurve roc(std::span<const float> known, std::span<const float> unknown);

/// Correct classification rate of known samples over the false positive rate of unknown ones (Dhamija et al., NeurIPS
/// 2018). `right`: one per known score, 1 where the sample is given the right class. The area is at most the share of
/// known samples given the right class.
AcceptanceCurve oscr(std::span<const float> known, std::span<const std::uint8_t> right, std::span<const float> unknown);

/// Share of unknown samples that are accepted at the highest threshold that accepts at least 95 % of the known ones.
/// Samples at the threshold are accepted, so ties there accept more of both.
double fpr95(std::span<const float> known, std::span<const float> unknown);

/// At most `most` (at least 2) points of a curve, the first and the last among them, spread evenly over the
/// sum of the two rates. Areas are those of the whole curve: take them from that.
std::vector<AcceptancePoint> thinned(std::span<const AcceptancePoint> curve, std::size_t most);

}  // namespace parsnets
