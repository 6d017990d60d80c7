#include "parsnets/error.hpp"
#include "pool_test.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;
using Sae = test::PoolTest;

/// The class vectors of the samples less their mean.
Eigen::MatrixXd centred(const SummedProblem& problem) {
  const Eigen::MatrixXd s = per_sample(problem.semantics, problem.labels);
  return s.rowwise() - s.colwise().mean();
}

/// The weight of the second term: lambda is relative to the squares of the data.
double weight(double lambda, const Eigen::MatrixXd& x, const Eigen::MatrixXd& s) {
  return lambda * x.squaredNorm() / s.squaredNorm();
}

/// vec(SᵀS W + λ W XᵀX) = (I ⊗ SᵀS + λ XᵀX ⊗ I) vec(W).
Eigen::MatrixXd slow_sae(const SummedProblem& problem, double relative) {
  const Eigen::MatrixXd x = dense(problem.x), s = centred(problem);
  const double lambda = weight(relative, x, s);
  const long d = x.cols(), m = s.cols();
  const Eigen::MatrixXd inner = s.transpose() * s, outer = x.transpose() * x, right = (1 + lambda) * s.transpose() * x;
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(d * m, d * m);
  for (long i = 0; i < d; ++i) {
    system.block(i * m, i * m, m, m) += inner;
    for (long j = 0; j < d; ++j) system.block(i * m, j * m, m, m).diagonal().array() += lambda * outer(i, j);
  }
  const Eigen::MatrixXd w = solved(system, Eigen::Map<const Eigen::VectorXd>(right.data(), d * m));
  return Eigen::Map<const Eigen::MatrixXd>(w.data(), m, d);
}

TEST_F(Sae, SolvesTheSylvesterEquation) {
  const SummedProblem more_classes(60, 5, 6, 3), more_attributes(60, 5, 4, 7), wide(14, 20, 6, 3);
  for (const SummedProblem* problem : {&more_classes, &more_attributes, &wide})
    for (const double lambda : {0.05, 1.0, 20.0}) {
      const SaeMaps maps = solve_sae(problem->samples(), lambda, pool);
      const Eigen::MatrixXd expected = slow_sae(*problem, lambda);
      expect_close(dense(maps.reverse.weights), expected, 5e-5);  // the sums are of samples in float
      expect_close(dense(maps.forward.weights), expected.transpose(), 5e-5);
      // The mean of the samples and that of their class vectors are mapped to each other.
      const Eigen::VectorXd mean = per_sample(problem->semantics, problem->labels).colwise().mean();
      const Eigen::VectorXd from_mean = expected.transpose() * mean;
      for (std::size_t j = 0; j < maps.forward.bias.size(); ++j)
        EXPECT_NEAR(maps.forward.bias[j], mean(static_cast<long>(j)), 1e-5);
      for (std::size_t i = 0; i < maps.reverse.bias.size(); ++i)
        EXPECT_NEAR(maps.reverse.bias[i], -from_mean(static_cast<long>(i)), 1e-4);
    }
}

TEST_F(Sae, MinimisesItsObjective) {
  const SummedProblem problem(60, 5, 6, 3);
  const Eigen::MatrixXd x = dense(problem.x), s = centred(problem);
  const double lambda = weight(0.7, x, s);
  const auto objective = [&](const Eigen::MatrixXd& w) {
    return (x - s * w).squaredNorm() + lambda * (x * w.transpose() - s).squaredNorm();
  };
  const Eigen::MatrixXd w = dense(solve_sae(problem.samples(), 0.7, pool).reverse.weights);
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    const Eigen::MatrixXd other =
        w + 0.01 * Eigen::MatrixXd::NullaryExpr(w.rows(), w.cols(), [&] { return rng.normal(); });
    EXPECT_LT(objective(w), objective(other));
  }
}

TEST_F(Sae, IsZeroWhenTheSemanticsAre) {
  SummedProblem problem(30, 4, 5, 3);
  for (auto& a : problem.semantics.values()) a = 0;
  EXPECT_EQ(dense(solve_sae(problem.samples(), 1.0, pool).forward.weights).norm(), 0);
}

TEST_F(Sae, GivesTheSameBitsForAnyNumberOfThreads) {
  const SummedProblem problem(600, 200, 20, 30);
  ThreadPool one(1), two(2);
  const SaeMaps a = solve_sae(problem.samples(), 0.4, one), b = solve_sae(problem.samples(), 0.4, two);
  expect_same_bits(a.forward, b.forward);
  expect_same_bits(a.reverse, b.reverse);
}

TEST_F(Sae, RefusesALambdaThatIsNotPositive) {
  const SummedProblem problem(20, 3, 4, 2);
  EXPECT_THROW(solve_sae(problem.samples(), 0.0, pool), Error);
}

}  // namespace
}  // namespace parsnets
