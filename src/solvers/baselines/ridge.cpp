// ridge: min_W,b ½Σ‖a_y − Wᵀx − b‖² + ½λ‖W‖². The best bias makes the means meet, b = ā − Wᵀx̄, which leaves ridge on
// centred samples; their targets need no centring, since the centred samples sum to zero.

#include "base/linalg.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

struct Ridge::State {
  ClassRidge system;
  MatrixView<const float> semantics;
};

Ridge::Ridge(const TrainingSamples& samples, ThreadPool& pool)
    : state_(new State{ClassRidge(samples, true, pool), samples.semantics}) {}
Ridge::Ridge(const SummedSamples& samples, ThreadPool& pool)
    : state_(new State{ClassRidge(samples.statistics, samples.factor, pool), samples.semantics}) {}
Ridge::~Ridge() = default;

LinearMap Ridge::solve(double lambda) { return solve(lambda, state_->semantics); }

LinearMap Ridge::solve(double lambda, MatrixView<const float> semantics) {
  const ClassMoments& moments = state_->system.moments();
  const Matrix<double> targets = moments.rows_of(semantics);
  const Matrix<double> weights = state_->system.solve(lambda, targets.view());
  std::vector<double> bias = moments.mean_of(targets);
  for (std::size_t i = 0; i < weights.rows(); ++i)
    for (std::size_t j = 0; j < bias.size(); ++j) bias[j] -= weights(i, j) * moments.mean[i];
  return {to_float(weights.view()), {bias.begin(), bias.end()}};
}

// reverse-ridge: min_R,r ½Σ‖x − Rᵀa_y − r‖² + ½λ‖R‖². With A₀ = the class vectors less their mean over the samples and
// N = diag(samples per class): R = (A₀ᵀNA₀ + λI)⁻¹A₀ᵀ · (sums of x over classes), r = x̄ − Rᵀā.

LinearMap solve_reverse_ridge(const TrainingSamples& samples, double lambda, ThreadPool& pool) {
  check_positive(lambda, "lambda");
  const ClassMoments moments(samples, pool);
  Matrix<double> semantics = moments.rows_of(samples.semantics);
  const std::size_t classes = semantics.rows(), m = semantics.cols(), d = samples.x.cols();
  const std::vector<double> mean = moments.mean_of(semantics);
  Matrix<double> weighted(classes, m), columns(m, classes);
  for (std::size_t c = 0; c < classes; ++c)
    for (std::size_t j = 0; j < m; ++j) {
      semantics(c, j) -= mean[j];
      columns(j, c) = semantics(c, j);
      weighted(c, j) = moments.counts[c] * semantics(c, j);
    }
  Matrix<double> gram(m, m);
  multiply(pool, Trans::yes, semantics.view(), Trans::no, weighted.view(), gram.view());
  Cholesky(pool, std::move(gram), lambda).solve(pool, columns.view());
  Matrix<double> weights(m, d);
  multiply(pool, Trans::no, columns.view(), Trans::no, moments.centred_sums.view(), weights.view());

  std::vector<double> bias = moments.mean;
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = 0; i < d; ++i) bias[i] -= weights(j, i) * mean[j];
  return {to_float(weights.view()), {bias.begin(), bias.end()}};
}

}  // namespace parsnets
