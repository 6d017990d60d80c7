#pragma once
// Ridge as a preconditioner: D = (XᵀX + λI)⁻¹(XᵀG + ρW), by the explicit inverse of the smaller side. The
// inverse is in single precision: any positive definite matrix gives a descent direction, so its rounding is harmless.

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

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

}  // namespace parsnets
