#pragma once
// Encoder: the tied linear autoencoder min ‖X − X WᵀW‖_F in closed form.

#include <cstddef>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// The basis of the encoder's space.
enum class Rotation {
  identity,  ///< principal axes, by falling variance
  random     ///< a seeded Haar rotation of them: same reconstruction, balanced parts
};

/// e = W x. An encoder without weights is the identity.
struct Encoder {
  Matrix<float> weights;            ///< h x d, orthonormal rows
  double reconstruction_error = 0;  ///< ‖X − X WᵀW‖_F / ‖X‖_F on the samples it was fitted to

  /// Whether e = x.
  bool is_identity() const { return weights.empty(); }
  /// e (h values) of one preprocessed sample (d values).
  void encode(std::span<const float> x, std::span<float> e) const;
};

}  // namespace parsnets
