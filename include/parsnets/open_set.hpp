#pragma once
// Open-set recognition: whether a sample is of any class of the model at all (Rejection), and the classes that it may
// be of (PredictionSets). calibrate_open_set() in parsnets/training.hpp chooses both.
//
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

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

/// What is known of a sample and its best class w before it is accepted. s are scores with gamma subtracted from seen
/// classes, cos the score of w without that, T the temperature, x the prepared features. v is the sample in class space
/// (with targets semantics: f), minus the mean of the seen classes.
struct Evidence {
  float score = 0;     ///< s_w
  float energy = 0;    ///< T·log of the mean of exp(s_c/T) over the candidates
  float length = 0;    ///< ‖v‖/√p, p the dimensions of v
  float distance = 0;  ///< of v from the line through the origin and class w: ‖v‖·√(1 − cos²)/√p
  float outside = 0;   ///< share of ‖x‖² outside of the span of the linear map from x to v; 0 without such a map
  float fit = 0;       ///< ‖v‖·cos/‖place of w in class space‖; with targets semantics ‖v‖·cos

  static constexpr std::size_t kCount = 6;  ///< numbers in it
  /// Their names, in the order of values().
  static constexpr std::array<std::string_view, kCount> kNames{"score",    "energy",  "length",
                                                               "distance", "outside", "fit"};
  /// All of them.
  std::array<float, kCount> values() const { return {score, energy, length, distance, outside, fit}; }
};

/// How a model tells samples of its classes from others. Where two values are kept, the first is for samples whose best
/// class is unseen, the second for those whose best class is seen. Chosen on held-out classes.
struct Rejection {
  /// Weights of the evidence, then the intercept.
  std::array<std::array<float, Evidence::kCount + 1>, 2> weights{};
  /// Evidence of known samples lies between these: the lowest values, then the highest.
  std::array<std::array<float, Evidence::kCount>, 2> range{};
  std::array<float, 2> thresholds{};  ///< samples with a lower known_score() are unknown
  /// Medians of the evidence of known samples; none: calibrated before these were kept. Only words depend on it.
  std::optional<std::array<std::array<float, Evidence::kCount>, 2>> typical;
  double false_accept = 0;  ///< share of unknown samples that these accept; 0: none chosen

  /// No rejection was calibrated.
  bool empty() const { return false_accept == 0; }
  /// Log-odds of a known sample against an unknown one; the lowest float for evidence out of range.
  float known_score(const Evidence& evidence, bool best_is_seen) const;
  /// Whether the sample is of no class.
  bool is_unknown(const Evidence& evidence, bool best_is_seen) const {
    return known_score(evidence, best_is_seen) < thresholds[best_is_seen ? 1 : 0];
  }
  bool operator==(const Rejection&) const = default;  ///< every field
};

/// Why a sample is unknown, in one sentence. Evidence out of range is named first, by its order; otherwise
/// the evidence that takes most from known_score(): the lowest weight·(value − typical value) among low score, energy
/// and fit, high distance and outside, and length on either side. Where none of these lowers it, or no typical values
/// are known, the sentence says that all of it together is too weak. Meaningless for samples that are not unknown.
std::string unknown_because(const Rejection& rejection, const Evidence& evidence, bool best_is_seen);

/// Confidences that held-out samples gave their own class among all classes of the bank, 1 where that was the best. By
/// them a set of any coverage is made.
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
