#include <limits>

#include "parsnets/error.hpp"
#include "pool_test.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;
using Ridge = test::PoolTest;

/// Normal equations of [A 1] towards B with no penalty on the last row.
void expect_ridge(const LinearMap& map, const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, double lambda,
                  double tolerance) {
  Eigen::MatrixXd augmented(a.rows(), a.cols() + 1);
  augmented << a, Eigen::VectorXd::Ones(a.rows());
  Eigen::MatrixXd system = augmented.transpose() * augmented;
  system.diagonal().head(a.cols()).array() += lambda;
  const Eigen::MatrixXd expected = solved(system, augmented.transpose() * b);
  expect_close(dense(map.weights), expected.topRows(a.cols()), tolerance);
  EXPECT_LE((dense(map.bias) - expected.bottomRows(1).transpose()).norm(), tolerance * expected.norm());
}

TEST_F(Ridge, SolvesTheNormalEquationsForwardsAndBackwards) {
  for (const double lambda : {0.01, 1.0, 50.0})
    for (const std::size_t n : {80u, 20u})
      for (const std::size_t m : {3u, 11u}) {  // fewer and more than classes
        const SummedProblem problem(n, 31, 6, m);
        const Eigen::MatrixXd x = dense(problem.x), targets = per_sample(problem.semantics, problem.labels);
        // With fewer samples than features the products, which are sums of float32, are singular without lambda.
        expect_ridge(solve_ridge(problem.samples(), lambda, pool), x, targets, lambda, n > 31 ? 1e-5 : 1e-3);
        expect_ridge(solve_reverse_ridge(problem.samples(), lambda, pool), targets, x, lambda, 1e-5);
      }
}

TEST_F(Ridge, GivesTheSameBitsForAnyNumberOfThreads) {
  const SummedProblem tall(4500, 150, 20, 30), wide(400, 700, 150, 200);
  ThreadPool one(1), two(2);
  for (const SummedProblem* problem : {&tall, &wide}) {
    expect_same_bits(solve_ridge(problem->samples(), 0.3, one), solve_ridge(problem->samples(), 0.3, two));
    expect_same_bits(solve_reverse_ridge(problem->samples(), 0.5, one),
                     solve_reverse_ridge(problem->samples(), 0.5, two));
  }
}

TEST_F(Ridge, RefusesParametersAndSemanticsThatMakeNoSense) {
  const SummedProblem problem(20, 3, 4, 2);
  for (const double lambda :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(solve_ridge(problem.samples(), lambda, pool), Error) << lambda;
    EXPECT_THROW(solve_reverse_ridge(problem.samples(), lambda, pool), Error) << lambda;
  }
  EXPECT_THROW(solve_ridge({problem.statistics, {problem.semantics.data(), 3, 2}}, 1, pool), Error);
}

}  // namespace
}  // namespace parsnets
