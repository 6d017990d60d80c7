#pragma once
// Preconditioned directions of the gated networks: D_i = (weight/k)·(Z_iᵀZ_i + λI)⁻¹(Z_iᵀG_i + ρΘ_i) over the samples
// for which network i is open, Z = [c, z] with c the root mean square of z's columns, so that a bias counts like any
// other input.

#include <cstdint>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

class GatedDirection {
 public:
  /// Keeps views of z (n x h) and open (n x k). `lambda` is in units of the mean eigenvalue of the networks' ZᵀZ.
  GatedDirection(MatrixView<const float> z, MatrixView<const std::uint16_t> open, std::size_t networks, double lambda,
                 ThreadPool& pool);
  /// (K·(h+1)) x m, laid out as Model::networks, for G n x m and the present networks. With `relu` a sample's gradient
  /// reaches a network's output only where that is not cut off.
  Matrix<float> direction(MatrixView<const float> gradient, double weight, double decay,
                          MatrixView<const float> networks, bool relu, ThreadPool& pool) const;

 private:
  Matrix<float> gather(std::size_t network) const;

  MatrixView<const float> z_;
  std::size_t open_;
  float constant_ = 1;  ///< c
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<Matrix<float>> inverses_;  ///< K of (h+1) x (h+1); empty for a network without samples
};

}  // namespace parsnets
