#pragma once
// What the baselines need to know of the training samples. Targets are the same for all samples of a class, so that
// every product with them comes from sums over classes: no n x m matrix is ever made.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/linalg.hpp"
#include "features/statistics.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"
#include "solvers/baselines/linear_map.hpp"

namespace parsnets {

/// Throws Error(usage) unless `value` is a positive finite number. `name` says whose parameter it is.
void check_positive(double value, const char* name);

/// The P classes that have samples. Throws Error(bad_input) when the samples do not fit together.
class ClassMoments {
 public:
  ClassMoments(const TrainingSamples& samples, ThreadPool& pool);
  /// Of samples that are (x − mean)·factor, feature by feature (factor empty: 1), from the sums of x: there are no
  /// slots, and the mean is zero. Rows of the semantics are the classes of the statistics.
  ClassMoments(const Statistics& statistics, std::span<const float> factor);

  std::size_t classes() const { return rows.size(); }
  /// Rows of the classes present: P x m. Throws Error(bad_input) when `semantics` lacks one of them.
  Matrix<double> rows_of(MatrixView<const float> semantics) const;
  /// Their mean weighted by the number of samples: m.
  std::vector<double> mean_of(const Matrix<double>& present) const;

  std::vector<std::size_t> rows;   ///< P, ascending: the rows of `semantics` that occur in the labels
  std::vector<std::size_t> slots;  ///< n: for each sample the place of its class in `rows`
  std::vector<double> counts;      ///< P: samples per class
  double total = 0;                ///< samples of all classes
  std::vector<double> mean;        ///< d: of all samples
  Matrix<double> sums;             ///< P x d: of the samples of each class
  Matrix<double> centred_sums;     ///< P x d: the same of x − mean
};

/// (X − 1·centreᵀ)ᵀ(X − 1·centreᵀ), d x d. Centred before it is multiplied, a block of rows at a time: nothing cancels.
Matrix<double> gram_of_features(ThreadPool& pool, MatrixView<const float> x, std::span<const double> centre);
/// (X − 1·centreᵀ)(X − 1·centreᵀ)ᵀ, n x n.
Matrix<double> gram_of_samples(ThreadPool& pool, MatrixView<const float> x, std::span<const double> centre);
/// (X − 1·centreᵀ)ᵀ B, d x c, for an n x c matrix B.
Matrix<double> combine_samples(ThreadPool& pool, MatrixView<const float> x, std::span<const double> centre,
                               MatrixView<const double> b);

/// XᵀX of samples that are (x − mean)·factor, from the sums of x: d x d.
Matrix<double> gram_of_statistics(const Statistics& statistics, std::span<const float> factor);

// Least squares from samples to targets that depend on the class alone, for many lambdas and targets:
//   W = (ZᵀZ + λI)⁻¹ Zᵀ Y T = Zᵀ(ZZᵀ + λI)⁻¹ Y T,   Z = X − 1·meanᵀ or X,  Y one-hot (n x P),  T (P x m).
// ZᵀY are the class sums, so that a new lambda costs one Cholesky factor of the smaller side and at most P right-hand
// sides, and new targets for the same lambda one d x P by P x m product.

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
