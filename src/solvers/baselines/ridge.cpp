// ridge: min_W,b ½Σ‖a_y − Wᵀx − b‖² + ½λ‖W‖². The best bias makes the means meet, b = ā − Wᵀx̄, which leaves ridge on
// centred samples; their targets need no centring, since the centred samples sum to zero.

#include "base/linalg.hpp"
#include "solvers/baselines/class_ridge.hpp"
#include "solvers/baselines/linear_map.hpp"

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

}  // namespace parsnets
