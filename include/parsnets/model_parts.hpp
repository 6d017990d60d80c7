#pragma once
// What a sample goes through before the networks: preprocessing, the encoder and the gates. All of it is part of the
// model: fitted on training data, stored, applied identically at prediction.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// Scaling of samples.
enum class FeatureScaling {
  none,
  l2,           ///< each sample to unit length
  sqrt_l2,      ///< sign(x)·sqrt|x|, then unit length
  standardize,  ///< each feature to mean 0 and variance 1 over the training samples
  by_sign       ///< of options alone: sqrt_l2, or l2 if a feature of the training samples is negative
};

/// From raw features to x.
struct FeaturePreprocess {
  FeatureScaling scaling = FeatureScaling::sqrt_l2;  ///< comes first
  bool centre = true;                                ///< subtract the training mean after scaling
  std::vector<float> mean;                           ///< d, subtracted (empty: nothing to subtract)
  std::vector<float> factor;  ///< d, multiplied after the mean is subtracted (standardize; empty otherwise)

  /// One sample in place, d values. A zero vector has no direction: scaling leaves it zero.
  void apply(std::span<float> x) const;
};

/// Scaling of class attributes.
enum class SemanticScaling {
  none,
  l2,           ///< each class to unit length
  centre_l2,    ///< subtract the mean over the seen classes, then unit length
  standardize,  ///< each attribute to mean 0 and variance 1 over the seen classes
  binary        ///< 1 where an attribute exceeds its mean over the seen classes, else 0
};

/// From the attributes of a class to its class vector.
struct SemanticPreprocess {
  SemanticScaling scaling = SemanticScaling::l2;  ///< comes first
  std::vector<float> mean, factor;                ///< m each, or empty
  std::vector<std::uint32_t> tables;              ///< columns of each table, m in all; empty: one table
  /// Partial whitening: class vectors are the r coordinates b = U(a − centre) of the scaled semantics. Row i of U (r x
  /// m, row-major) is a principal axis of the seen classes, its length the factor of that axis. Both empty: b = a.
  /// With several tables each has its own axes, which are zero outside its columns, and its weight is in their lengths.
  std::vector<float> whitening_centre, whitening;

  /// Scales one class in place, m values; to unit length: each table by itself.
  void apply(std::span<float> a) const;
  /// How many values a class vector has: r, or m without whitening.
  std::size_t outputs(std::size_t attributes) const {
    return whitening.empty() ? attributes : whitening.size() / attributes;
  }
  /// The class vector b of scaled semantics a.
  void whiten(std::span<const float> a, std::span<float> b) const;
  /// A vector of class space as one of m attributes, Σ_i b_i·axis_i: lengths and angles stay.
  void expand(std::span<const float> b, std::span<float> a) const;
};

/// The tied linear autoencoder min ‖X − X WᵀW‖_F in closed form: e = W x. Without weights it is the identity.
struct Encoder {
  Matrix<float> weights;            ///< h x d, orthonormal rows
  double reconstruction_error = 0;  ///< ‖X − X WᵀW‖_F / ‖X‖_F on the samples it was fitted to

  /// Whether e = x.
  bool is_identity() const { return weights.empty(); }
};

/// The rule that opens networks.
enum class GateKind {
  always,  ///< one network, always open: a plain linear map
  energy,  ///< the paper's: K parts of e, v_i = mean((e_part_i − mean(e))²), the k largest
  anchor   ///< K training samples in the space of e as anchors, the k nearest by cosine
};

/// Chooses k of K networks by the embedding of a sample.
struct Gates {
  GateKind kind = GateKind::always;  ///< the rule
  std::size_t networks = 1;          ///< K
  std::size_t open = 1;              ///< k, 1 <= k <= K
  Matrix<float> anchors;             ///< K x h, unit rows; empty unless kind is anchor

  /// Writes the k open gates of one embedding e (h values), ascending; ties go to the lower index.
  void select(std::span<const float> e, std::span<std::uint16_t> chosen) const;
};

}  // namespace parsnets
