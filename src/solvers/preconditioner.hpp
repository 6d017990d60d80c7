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
  /// The same with `inverse` (d x d) in place of (XᵀX + λI)⁻¹.
  RidgePreconditioner(MatrixView<const float> x, Matrix<float> inverse)
      : x_(x), primal_(true), inverse_(std::move(inverse)) {}
  /// d x m for G n x m and W d x m.
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
