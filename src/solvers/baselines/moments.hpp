#pragma once
// What the baselines need to know of the training samples.

#include <vector>

#include "parsnets/matrix.hpp"
#include "solvers/baselines/linear_map.hpp"

namespace parsnets {

/// Throws Error(usage) unless `value` is a positive finite number. `name` says whose parameter it is.
void check_positive(double value, const char* name);

/// The P classes that have samples.
struct ClassMoments {
  /// Throws Error(bad_input) when the semantics lack one of the classes.
  explicit ClassMoments(const SummedSamples& samples);

  std::vector<double> counts;      ///< P: samples per class
  double total = 0;                ///< samples of all classes
  std::vector<double> mean;        ///< d: of all samples
  Matrix<double> sums;             ///< P x d: of x − mean over the samples of each class
  Matrix<double> semantics;        ///< P x m
  std::vector<double> mean_class;  ///< m: mean of the semantics, weighted by the number of samples
};

// Least squares from samples to targets that depend on the class alone:
//   W = (ZᵀZ + λI)⁻¹ Zᵀ Y T,   Z = X − 1·meanᵀ,  Y one-hot (n x P),  T (P x m).
// ZᵀY are the class sums, so that it costs one Cholesky factor and at most P right-hand sides.

/// W (d x m).
Matrix<double> solve_class_ridge(const SummedSamples& samples, const ClassMoments& moments, double lambda,
                                 const Matrix<double>& targets, ThreadPool& pool);

/// ZᵀZ, d x d.
Matrix<double> centred_products(const SummedSamples& samples, const ClassMoments& moments);

}  // namespace parsnets
