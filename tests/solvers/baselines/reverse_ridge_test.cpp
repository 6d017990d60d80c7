#include "parsnets/error.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;

void expect_reverse_ridge(const SmallProblem& problem, double lambda) {
  const Eigen::MatrixXd targets = per_sample(problem.semantics, problem.labels);
  Eigen::MatrixXd augmented(targets.rows(), targets.cols() + 1);
  augmented << targets, Eigen::VectorXd::Ones(targets.rows());
  Eigen::MatrixXd system = augmented.transpose() * augmented;
  system.diagonal().head(targets.cols()).array() += lambda;
  const Eigen::MatrixXd expected = system.fullPivLu().solve(augmented.transpose() * dense(problem.x));
  ThreadPool pool(2);
  const LinearMap map = solve_reverse_ridge(problem.samples(), lambda, pool);
  expect_close(dense(map.weights), expected.topRows(targets.cols()), 1e-5);
  expect_close(dense(map.bias), expected.bottomRows(1).transpose(), 1e-5);
}

TEST(ReverseRidge, SolvesTheNormalEquations) {
  for (const double lambda : {0.01, 1.0, 30.0}) {
    expect_reverse_ridge(SmallProblem(80, 7, 6, 3), lambda);   // more classes than attributes
    expect_reverse_ridge(SmallProblem(60, 5, 6, 14), lambda);  // more attributes than classes
    expect_reverse_ridge(SmallProblem(12, 40, 4, 3), lambda);  // more features than samples
  }
}

TEST(ReverseRidge, GivesTheSameBitsForAnyNumberOfThreads) {
  const SmallProblem problem(400, 700, 150, 200);
  ThreadPool one(1), two(2);
  expect_same_bits(solve_reverse_ridge(problem.samples(), 0.5, one), solve_reverse_ridge(problem.samples(), 0.5, two));
}

TEST(ReverseRidge, RefusesALambdaThatIsNotPositive) {
  const SmallProblem problem(20, 3, 4, 2);
  ThreadPool pool(1);
  EXPECT_THROW(solve_reverse_ridge(problem.samples(), 0.0, pool), Error);
}

}  // namespace
}  // namespace parsnets
