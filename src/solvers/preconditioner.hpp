#pragma once
// Ridge as a preconditioner: D = (XᵀX + λI)⁻¹(XᵀG + ρW), by the explicit inverse of the smaller side. The
// inverse is in single precision: any positive definite matrix gives a descent direction, so its rounding is harmless.

#include <cstdint>
#include <vector>

#include "base/processes.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"
#include "solvers/class_means.hpp"

namespace parsnets {

class RidgePreconditioner {
 public:
  /// Keeps a view of x (n x d). `lambda` > 0 is in units of the mean eigenvalue of XᵀX.
  RidgePreconditioner(MatrixView<const float> x, double lambda, ThreadPool& pool);
  /// With `inverse` (d x d) in place of (XᵀX + λI)⁻¹.
  explicit RidgePreconditioner(Matrix<float> inverse) : primal_(true), inverse_(std::move(inverse)) {}
  /// From XᵀX (d x d) alone.
  static RidgePreconditioner of_products(MatrixView<const float> products, double lambda, ThreadPool& pool);

  /// Whether moments XᵀG are enough: the samples need not be there.
  bool takes_moments() const { return primal_; }
  /// d x m for the moments XᵀG (d x m) and W d x m; takes_moments() must hold.
  Matrix<float> direction_of_moments(MatrixView<const float> moments, double decay, MatrixView<const float> weights,
                                     ThreadPool& pool) const;
  /// d x m for G n x m and W d x m, by the samples' side; takes_moments() must not hold.
  Matrix<float> direction(MatrixView<const float> gradient, double decay, MatrixView<const float> weights,
                          ThreadPool& pool) const;

 private:
  MatrixView<const float> x_;
  bool primal_;
  double ridge_ = 0;       ///< λ, absolute
  Matrix<float> inverse_;  ///< d x d or n x n
};

/// (A + ridge·I)⁻¹ of a symmetric positive semi-definite matrix, in single precision.
Matrix<float> ridge_inverse(MatrixView<const float> a, double ridge, ThreadPool& pool);

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
  Matrix<float> gather(const SampleBlock& block, std::span<const std::uint32_t> rows) const;

  std::size_t width_ = 0, open_ = 0;     ///< h + 1, k
  float constant_ = 1;                   ///< c
  std::vector<Matrix<float>> inverses_;  ///< K of (h+1) x (h+1); empty for a network without samples
};

}  // namespace parsnets
