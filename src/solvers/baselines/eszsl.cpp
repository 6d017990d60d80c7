// ESZSL: V = (XᵀX + γI)⁻¹ Xᵀ Y S (SᵀS + λI)⁻¹, Y ∈ {−1, 1}^{n x P}, S the P class vectors. Y = Y₁(2I − 11ᵀ) with the
// one-hot Y₁, so that V is plain ridge towards the targets (2I − 11ᵀ) S (SᵀS + λI)⁻¹.

#include "base/linalg.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

struct Eszsl::State {
  ClassRidge system;
  ThreadPool& pool;
  Matrix<double> semantics;  // P x m
  Matrix<double> gram;       // SᵀS
};

namespace {

void set_semantics(MatrixView<const float> semantics, Matrix<double>& present, Matrix<double>& gram,
                   const ClassMoments& moments, ThreadPool& pool) {
  present = moments.rows_of(semantics);
  gram = Matrix<double>(semantics.cols(), semantics.cols());
  multiply(pool, Trans::yes, present.view(), Trans::no, present.view(), gram.view());
}

}  // namespace

Eszsl::Eszsl(const TrainingSamples& samples, ThreadPool& pool)
    : state_(new State{ClassRidge(samples, false, pool), pool, {}, {}}) {
  set_semantics(samples.semantics, state_->semantics, state_->gram, state_->system.moments(), pool);
}
Eszsl::Eszsl(const SummedSamples& samples, ThreadPool& pool)
    : state_(new State{ClassRidge(samples.statistics, samples.factor, pool), pool, {}, {}}) {
  set_semantics(samples.semantics, state_->semantics, state_->gram, state_->system.moments(), pool);
}
Eszsl::~Eszsl() = default;

LinearMap Eszsl::solve(double gamma, double lambda) {
  check_positive(gamma, "gamma");
  check_positive(lambda, "lambda");
  const Matrix<double>& semantics = state_->semantics;
  const std::size_t classes = semantics.rows(), m = semantics.cols();
  Matrix<double> columns(m, classes);
  for (std::size_t c = 0; c < classes; ++c)
    for (std::size_t j = 0; j < m; ++j) columns(j, c) = semantics(c, j);
  Cholesky(state_->pool, Matrix<double>::copy_of(state_->gram.view()), lambda).solve(state_->pool, columns.view());

  Matrix<double> targets(classes, m);
  for (std::size_t j = 0; j < m; ++j) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += columns(j, c);
    for (std::size_t c = 0; c < classes; ++c) targets(c, j) = 2 * columns(j, c) - sum;
  }
  return {to_float(state_->system.solve(gamma, targets.view()).view()), std::vector<float>(m, 0.0f)};
}

}  // namespace parsnets
