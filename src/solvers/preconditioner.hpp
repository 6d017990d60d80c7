#pragma once
// Ridge as a preconditioner of descent: D = (XᵀX + λI)⁻¹(XᵀG + ρW), by a Cholesky factor. It is in single precision:
// any positive definite matrix gives a descent direction, so its rounding is harmless.

#include <cstdint>
#include <vector>

#include "base/linalg.hpp"
#include "base/processes.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"
#include "solvers/class_means.hpp"

namespace parsnets {

/// Solves for XᵀX + λI from XᵀX (d x d); `lambda` > 0 is in units of its mean eigenvalue.
Cholesky<float> ridge_preconditioner(MatrixView<const float> products, double lambda, ThreadPool& pool);

// Preconditioned directions of the gated networks: D_i = (weight/k)·(Z_iᵀZ_i + λI)⁻¹(Z_iᵀG_i + ρΘ_i) over the samples
// for which network i is open, Z = [c, z] with c the root mean square of z's columns, so that a bias counts like any
// other input. Samples come in blocks: products once, moments [1, z]ᵀG for every direction.

class GatedDirection {
 public:
  /// Reads z (n x h) and open (n x k) of all blocks. `lambda` is in units of the mean eigenvalue of the networks'
  /// ZᵀZ, which are those of all processes. Every process has at least one block.
  GatedDirection(const SampleBlocks& blocks, std::size_t networks, double lambda, Processes& group, ThreadPool& pool);

  /// Adds [1, z]ᵀG of a block, G n x m, over the samples of each network to `moments`: (K·(h+1)) x m, laid out as
  /// Model::networks. With `relu` a sample's gradient reaches a network's output only where that is not cut off in the
  /// present `networks`.
  void add_moments(const SampleBlock& block, MatrixView<const float> gradient, MatrixView<const float> networks,
                   bool relu, MatrixView<float> moments, ThreadPool& pool) const;
  /// D of all networks for the moments of all samples: as large as `moments`.
  Matrix<float> direction(MatrixView<const float> moments, double weight, double decay,
                          MatrixView<const float> networks, ThreadPool& pool) const;

 private:
  std::size_t width_ = 0, open_ = 0;     ///< h + 1, k
  float constant_ = 1;                   ///< c
  std::vector<Matrix<float>> inverses_;  ///< K of (h+1) x (h+1); empty for a network without samples
};

}  // namespace parsnets
