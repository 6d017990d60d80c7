#include "parsnets/error.hpp"
#include "pool_test.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;
using Eszsl = test::PoolTest;

Eigen::MatrixXd slow_eszsl(const SummedProblem& problem, double gamma, double lambda) {
  const Eigen::MatrixXd x = dense(problem.x), s = present_rows(problem.semantics);
  Eigen::MatrixXd y = Eigen::MatrixXd::Constant(x.rows(), s.rows(), -1);
  for (std::size_t l = 0; l < problem.labels.size(); ++l)
    y(static_cast<long>(l), std::max(0, problem.labels[l] - 1)) = 1;  // class 1 is absent
  const Eigen::MatrixXd left = x.transpose() * x + gamma * Eigen::MatrixXd::Identity(x.cols(), x.cols());
  const Eigen::MatrixXd right = s.transpose() * s + lambda * Eigen::MatrixXd::Identity(s.cols(), s.cols());
  return solved(left, x.transpose() * y * s) * inverse_of(right);
}

TEST_F(Eszsl, IsTheClosedFormOfThePaper) {
  const SummedProblem more_classes(80, 7, 6, 3), more_attributes(80, 7, 6, 11), wide(30, 41, 6, 4);
  for (const SummedProblem* problem : {&more_classes, &more_attributes, &wide})
    for (const double gamma : {0.1, 10.0})
      for (const double lambda : {0.01, 1.0}) {
        const LinearMap map = solve_eszsl(problem->samples(), gamma, lambda, pool);
        // Products of fewer samples than features, in float32, are singular without gamma.
        expect_close(dense(map.weights), slow_eszsl(*problem, gamma, lambda), problem == &wide ? 1e-4 : 1e-5);
        EXPECT_EQ(map.bias, std::vector<float>(problem->semantics.cols(), 0.0f));
      }
}

TEST_F(Eszsl, GivesTheSameBitsForAnyNumberOfThreads) {
  const SummedProblem problem(600, 300, 20, 30);
  ThreadPool one(1), two(2);
  expect_same_bits(solve_eszsl(problem.samples(), 2.0, 0.3, one), solve_eszsl(problem.samples(), 2.0, 0.3, two));
}

TEST_F(Eszsl, RefusesParametersThatAreNotPositive) {
  const SummedProblem problem(20, 3, 4, 2);
  EXPECT_THROW(solve_eszsl(problem.samples(), 0.0, 1.0, pool), Error);
  EXPECT_THROW(solve_eszsl(problem.samples(), 1.0, -1.0, pool), Error);
}

}  // namespace
}  // namespace parsnets
