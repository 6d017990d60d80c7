#include "parsnets/error.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;

/// vec(SᵀS W + λ W XᵀX) = (I ⊗ SᵀS + λ XᵀX ⊗ I) vec(W).
Eigen::MatrixXd slow_sae(const SmallProblem& problem, double lambda) {
  const Eigen::MatrixXd x = dense(problem.x), s = per_sample(problem.semantics, problem.labels);
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

TEST(Sae, SolvesTheSylvesterEquation) {
  const SmallProblem more_classes(60, 5, 6, 3), more_attributes(60, 5, 4, 7), wide(14, 20, 6, 3);
  ThreadPool pool(2);
  for (const SmallProblem* problem : {&more_classes, &more_attributes, &wide}) {
    const Sae sae(problem->samples(), pool);
    for (const double lambda : {0.05, 1.0, 20.0}) {
      const SaeMaps maps = sae.solve(lambda);
      const Eigen::MatrixXd expected = slow_sae(*problem, lambda);
      expect_close(dense(maps.reverse.weights), expected, 2e-5);
      expect_close(dense(maps.forward.weights), expected.transpose(), 2e-5);
      EXPECT_EQ(maps.forward.bias, std::vector<float>(problem->semantics.cols(), 0.0f));
      EXPECT_EQ(maps.reverse.bias, std::vector<float>(problem->x.cols(), 0.0f));
    }
  }
}

TEST(Sae, MinimisesItsObjective) {
  const SmallProblem problem(60, 5, 6, 3);
  const Eigen::MatrixXd x = dense(problem.x), s = per_sample(problem.semantics, problem.labels);
  ThreadPool pool(1);
  const double lambda = 0.7;
  const auto objective = [&](const Eigen::MatrixXd& w) {
    return (x - s * w).squaredNorm() + lambda * (x * w.transpose() - s).squaredNorm();
  };
  const Eigen::MatrixXd w = dense(Sae(problem.samples(), pool).solve(lambda).reverse.weights);
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    const Eigen::MatrixXd other =
        w + 0.01 * Eigen::MatrixXd::NullaryExpr(w.rows(), w.cols(), [&] { return rng.normal(); });
    EXPECT_LT(objective(w), objective(other));
  }
}

TEST(Sae, IsZeroWhenTheSemanticsAre) {
  SmallProblem problem(30, 4, 5, 3);
  for (auto& a : problem.semantics.values()) a = 0;
  ThreadPool pool(1);
  EXPECT_EQ(dense(Sae(problem.samples(), pool).solve(1.0).forward.weights).norm(), 0);
}

TEST(Sae, GivesTheSameBitsForAnyNumberOfThreads) {
  const SmallProblem tall(600, 200, 20, 30), wide(140, 500, 20, 5);
  ThreadPool one(1), two(2);
  for (const SmallProblem* problem : {&tall, &wide}) {
    const SaeMaps a = Sae(problem->samples(), one).solve(0.4), b = Sae(problem->samples(), two).solve(0.4);
    expect_same_bits(a.forward, b.forward);
    expect_same_bits(a.reverse, b.reverse);
  }
}

TEST(Sae, RefusesALambdaThatIsNotPositive) {
  const SmallProblem problem(20, 3, 4, 2);
  ThreadPool pool(1);
  EXPECT_THROW(Sae(problem.samples(), pool).solve(0.0), Error);
}

}  // namespace
}  // namespace parsnets
