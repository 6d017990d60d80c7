#include "parsnets/error.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;

Eigen::MatrixXd slow_eszsl(const SmallProblem& problem, double gamma, double lambda) {
  const Eigen::MatrixXd x = dense(problem.x), s = present_rows(problem.semantics);
  Eigen::MatrixXd y = Eigen::MatrixXd::Constant(x.rows(), s.rows(), -1);
  for (std::size_t l = 0; l < problem.labels.size(); ++l)
    y(static_cast<long>(l), std::max(0, problem.labels[l] - 1)) = 1;  // class 1 is absent
  const Eigen::MatrixXd left = x.transpose() * x + gamma * Eigen::MatrixXd::Identity(x.cols(), x.cols());
  const Eigen::MatrixXd right = s.transpose() * s + lambda * Eigen::MatrixXd::Identity(s.cols(), s.cols());
  return solved(left, x.transpose() * y * s) * inverse_of(right);
}

TEST(Eszsl, IsTheClosedFormOfThePaper) {
  const SmallProblem more_classes(80, 7, 6, 3), more_attributes(80, 7, 6, 11), wide(30, 41, 6, 4);
  ThreadPool pool(2);
  for (const SmallProblem* problem : {&more_classes, &more_attributes, &wide}) {
    Eszsl eszsl(problem->samples(), pool);
    for (const double gamma : {0.1, 10.0})
      for (const double lambda : {0.01, 1.0}) {
        const LinearMap map = eszsl.solve(gamma, lambda);
        expect_close(dense(map.weights), slow_eszsl(*problem, gamma, lambda), 1e-5);
        EXPECT_EQ(map.bias, std::vector<float>(problem->semantics.cols(), 0.0f));
      }
  }
}

TEST(Eszsl, GivesTheSameBitsForAnyNumberOfThreads) {
  const SmallProblem tall(600, 300, 20, 30), wide(140, 700, 20, 5);
  ThreadPool one(1), two(2);
  for (const SmallProblem* problem : {&tall, &wide})
    expect_same_bits(Eszsl(problem->samples(), one).solve(2.0, 0.3), Eszsl(problem->samples(), two).solve(2.0, 0.3));
}

TEST(Eszsl, RefusesParametersThatAreNotPositive) {
  const SmallProblem problem(20, 3, 4, 2);
  ThreadPool pool(1);
  Eszsl eszsl(problem.samples(), pool);
  EXPECT_THROW(eszsl.solve(0.0, 1.0), Error);
  EXPECT_THROW(eszsl.solve(1.0, -1.0), Error);
}

}  // namespace
}  // namespace parsnets
