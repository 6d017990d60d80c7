#pragma once
// Rejection: whether a sample is of any class of the bank at all.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

/// What rejection costs and how well it tells, measured on held-out classes. Shares from 0 to 1.
struct RejectionPrice {
  double rejected_seen = 0, rejected_unseen = 0;  ///< known samples of seen, of unseen classes rejected; 0 without any
  double auroc = 0;                               ///< of known_score(), known against unknown samples; 0.5: chance
  bool operator==(const RejectionPrice&) const = default;  ///< every field
};

/// How a model tells samples of its classes from others. Where two values are kept, the first is for samples whose best
/// class is unseen, the second for those whose best class is seen. Chosen on held-out classes
/// (parsnets/open_set.hpp).
struct Rejection {
  /// Weights of the evidence, then the intercept.
  std::array<std::array<float, Evidence::kCount + 1>, 2> weights{};
  /// Evidence of known samples lies between these: the lowest values, then the highest.
  std::array<std::array<float, Evidence::kCount>, 2> range{};
  std::array<float, 2> thresholds{};  ///< samples with a lower known_score() are unknown
  /// Medians of the evidence of known samples; none: calibrated before these were kept. Only words depend on it.
  std::optional<std::array<std::array<float, Evidence::kCount>, 2>> typical;
  double false_accept = 0;  ///< share of unknown samples that these accept; 0: none chosen
  /// Model files keep it in the training record (RejectionRecord::price()). None: not known. No verdict depends on it.
  std::optional<RejectionPrice> price;

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

/// Why a sample is unknown, in one sentence for people. Evidence out of range is named first, by its order; otherwise
/// the evidence that takes most from known_score(): the lowest weight·(value − typical value) among low score, energy
/// and fit, high distance and outside, and length on either side. Where none of these lowers it, or no typical values
/// are known, the sentence says that all of it together is too weak. Meaningless for samples that are not unknown.
std::string unknown_because(const Rejection& rejection, const Evidence& evidence, bool best_is_seen);

/// A warning for people where AUROC is at most 0.6, or more than half of the samples of seen or of unseen classes are
/// rejected; otherwise, and where the price is not known, "".
std::string weak_rejection(const Rejection& rejection);

}  // namespace parsnets
