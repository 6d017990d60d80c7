#pragma once
// Least squares from samples to targets that depend on the class alone, for many lambdas and targets:
//   W = (ZᵀZ + λI)⁻¹ Zᵀ Y T = Zᵀ(ZZᵀ + λI)⁻¹ Y T,   Z = X − 1·meanᵀ or X,  Y one-hot (n x P),  T (P x m).
// ZᵀY are the class sums, so that a new lambda costs one Cholesky factor of the smaller side and at most P right-hand
// sides, and new targets for the same lambda one d x P by P x m product.

#include <optional>
#include <vector>

#include "base/linalg.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

class ClassRidge {
 public:
  /// Keeps a view of samples.x and a reference to the pool. `centred`: Z = X − mean, else Z = X.
  ClassRidge(const TrainingSamples& samples, bool centred, ThreadPool& pool);
  /// Of prepared samples by their sums (moments.hpp), whose mean is zero.
  ClassRidge(const Statistics& statistics, std::span<const float> factor, ThreadPool& pool);
  /// W (d x m) for targets T, one row per class present. `lambda` > 0 (Error(usage)).
  Matrix<double> solve(double lambda, MatrixView<const double> targets);

  const ClassMoments& moments() const { return moments_; }

 private:
  Matrix<double> solve_all(MatrixView<const double> targets) const;

  MatrixView<const float> x_;
  bool centred_;
  ThreadPool& pool_;
  ClassMoments moments_;
  std::vector<double> centre_;
  bool primal_;
  Matrix<double> gram_;
  double lambda_ = 0;               // of factor_ and per_class_
  std::optional<Cholesky> factor_;  // of gram_ + lambda_·I
  Matrix<double> per_class_;        // W for T = I, or empty
};

}  // namespace parsnets
