#include "solvers/baselines/class_ridge.hpp"

namespace parsnets {

ClassRidge::ClassRidge(const TrainingSamples& samples, bool centred, ThreadPool& pool)
    : x_(samples.x),
      centred_(centred),
      pool_(pool),
      moments_(samples, pool),
      centre_(centred ? moments_.mean : std::vector<double>(x_.cols(), 0.0)),
      primal_(x_.cols() <= x_.rows()),
      gram_(primal_ ? gram_of_features(pool, x_, centre_) : gram_of_samples(pool, x_, centre_)) {}

ClassRidge::ClassRidge(const Statistics& statistics, std::span<const float> factor, ThreadPool& pool)
    : x_(nullptr, 0, statistics.dimensions()),
      centred_(true),
      pool_(pool),
      moments_(statistics, factor),
      primal_(true),
      gram_(gram_of_statistics(statistics, factor)) {}

Matrix<double> ClassRidge::solve_all(MatrixView<const double> targets) const {
  if (primal_) {
    Matrix<double> result(x_.cols(), targets.cols());
    multiply(pool_, Trans::yes, (centred_ ? moments_.centred_sums : moments_.sums).view(), Trans::no, targets,
             result.view());
    factor_->solve(pool_, result.view());
    return result;
  }
  // Centred columns keep the constant vector, whose eigenvalue is lambda alone, out of the solution.
  std::vector<double> mean(targets.cols(), 0.0);
  if (centred_) mean = moments_.mean_of(Matrix<double>::copy_of(targets));
  Matrix<double> dual(x_.rows(), targets.cols());
  for (std::size_t l = 0; l < x_.rows(); ++l)
    for (std::size_t j = 0; j < targets.cols(); ++j) dual(l, j) = targets(moments_.slots[l], j) - mean[j];
  factor_->solve(pool_, dual.view());
  return combine_samples(pool_, x_, centre_, dual.view());
}

Matrix<double> ClassRidge::solve(double lambda, MatrixView<const double> targets) {
  check_positive(lambda, "lambda");
  if (lambda != lambda_) {
    factor_.reset();
    lambda_ = 0;
    per_class_ = {};
    factor_.emplace(pool_, Matrix<double>::copy_of(gram_.view()), lambda);
    lambda_ = lambda;
  }
  const std::size_t classes = moments_.classes();
  if (targets.cols() < classes) return solve_all(targets);
  if (per_class_.empty()) {
    Matrix<double> identity(classes, classes, 0.0);
    for (std::size_t c = 0; c < classes; ++c) identity(c, c) = 1;
    per_class_ = solve_all(identity.view());
  }
  Matrix<double> result(x_.cols(), targets.cols());
  multiply(pool_, Trans::no, per_class_.view(), Trans::no, targets, result.view());
  return result;
}

}  // namespace parsnets
