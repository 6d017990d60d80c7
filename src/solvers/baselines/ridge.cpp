// ridge: min_W,b ½Σ‖a_y − Wᵀx − b‖² + ½λ‖W‖². The best bias makes the means meet, b = ā − Wᵀx̄, which leaves ridge on
// centred samples; their targets need no centring, since the centred samples sum to zero. Here x̄ = 0.

#include "base/linalg.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

LinearMap solve_ridge(const SummedSamples& samples, double lambda, ThreadPool& pool) {
  check_positive(lambda, "lambda");
  const ClassMoments moments(samples);
  const Matrix<double> weights = solve_class_ridge(samples, moments, lambda, moments.semantics, pool);
  return {to_float(weights.view()), {moments.mean_class.begin(), moments.mean_class.end()}};
}

// reverse-ridge: min_R,r ½Σ‖x − Rᵀa_y − r‖² + ½λ‖R‖². With A₀ = the class vectors less their mean over the samples and
// N = diag(samples per class): R = (A₀ᵀNA₀ + λI)⁻¹A₀ᵀ · (sums of x over classes), r = x̄ − Rᵀā.

LinearMap solve_reverse_ridge(const SummedSamples& samples, double lambda, ThreadPool& pool) {
  check_positive(lambda, "lambda");
  ClassMoments moments(samples);
  Matrix<double>& semantics = moments.semantics;
  const std::vector<double>& mean = moments.mean_class;
  Matrix<double> weighted(semantics.rows(), semantics.cols());
  for (std::size_t c = 0; c < semantics.rows(); ++c)
    for (std::size_t j = 0; j < semantics.cols(); ++j) {
      semantics(c, j) -= mean[j];
      weighted(c, j) = moments.counts[c] * semantics(c, j);
    }
  Matrix<double> columns = transposed(semantics);
  Cholesky(pool, product(pool, Trans::yes, semantics, Trans::no, weighted), lambda).solve(pool, columns.view());
  const Matrix<double> weights = product(pool, Trans::no, columns, Trans::no, moments.sums);
  std::vector<double> bias = moments.mean;
  for (std::size_t j = 0; j < mean.size(); ++j)
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] -= weights(j, i) * mean[j];
  return {to_float(weights.view()), {bias.begin(), bias.end()}};
}

}  // namespace parsnets
