#include <limits>

#include "parsnets/error.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;

/// Normal equations of [X 1] with no penalty on the last row: (d + 1) x m, the bias last.
Eigen::MatrixXd slow_ridge(const SmallProblem& problem, const Matrix<float>& semantics, double lambda) {
  const Eigen::MatrixXd x = dense(problem.x);
  Eigen::MatrixXd augmented(x.rows(), x.cols() + 1);
  augmented << x, Eigen::VectorXd::Ones(x.rows());
  Eigen::MatrixXd system = augmented.transpose() * augmented;
  system.diagonal().head(x.cols()).array() += lambda;
  return solved(system, augmented.transpose() * per_sample(semantics, problem.labels));
}

void expect_ridge(const LinearMap& map, const Eigen::MatrixXd& expected, double tolerance) {
  const long d = expected.rows() - 1;
  expect_close(dense(map.weights), expected.topRows(d), tolerance);
  expect_close(dense(map.bias), expected.row(d).transpose(), tolerance);
}

TEST(Ridge, SolvesTheNormalEquationsWhenThereAreMoreSamplesThanFeatures) {
  const SmallProblem more_classes(80, 7, 6, 3), more_attributes(80, 7, 6, 11);
  ThreadPool pool(2);
  for (const SmallProblem* problem : {&more_classes, &more_attributes}) {
    Ridge ridge(problem->samples(), pool);
    for (const double lambda : {0.01, 1.0, 50.0, 1.0})
      expect_ridge(ridge.solve(lambda), slow_ridge(*problem, problem->semantics, lambda), 1e-5);
  }
}

TEST(Ridge, SolvesTheNormalEquationsWhenThereAreMoreFeaturesThanSamples) {
  const SmallProblem more_classes(20, 31, 6, 3), more_attributes(20, 31, 6, 11);
  ThreadPool pool(2);
  for (const SmallProblem* problem : {&more_classes, &more_attributes}) {
    Ridge ridge(problem->samples(), pool);
    for (const double lambda : {0.01, 1.0, 50.0, 1.0})
      expect_ridge(ridge.solve(lambda), slow_ridge(*problem, problem->semantics, lambda), 1e-5);
  }
}

TEST(Ridge, TakesOtherSemanticsForTheSameLabels) {
  const SmallProblem problem(80, 7, 6, 3), other(10, 2, 8, 9);
  ThreadPool pool(1);
  Ridge ridge(problem.samples(), pool);
  for (const double lambda : {0.1, 2.0}) {
    expect_ridge(ridge.solve(lambda, other.semantics.view()), slow_ridge(problem, other.semantics, lambda), 1e-5);
    expect_ridge(ridge.solve(lambda), slow_ridge(problem, problem.semantics, lambda), 1e-5);
  }
  EXPECT_THROW(ridge.solve(1.0, MatrixView<const float>(other.semantics.data(), 3, 9)), Error);
}

TEST(Ridge, KeepsItsPrecisionWhenTheMeanIsFarLargerThanTheSpread) {
  const SmallProblem problem(300, 6, 5, 4, false, 1000.0);
  ThreadPool pool(1);
  const LinearMap map = Ridge(problem.samples(), pool).solve(0.5);
  const Eigen::MatrixXd expected = slow_ridge(problem, problem.semantics, 0.5);
  expect_close(dense(map.weights), expected.topRows(6), 1e-4);
}

TEST(Ridge, GivesTheSameBitsForAnyNumberOfThreadsAndAnyHistory) {
  const SmallProblem tall(4500, 150, 20, 30), wide(140, 4300, 20, 5);
  ThreadPool one(1), two(2);
  for (const SmallProblem* problem : {&tall, &wide}) {
    Ridge first(problem->samples(), one), second(problem->samples(), two);
    second.solve(7.0);
    expect_same_bits(first.solve(0.3), second.solve(0.3));
    expect_same_bits(first.solve(0.3), second.solve(0.3));
  }
}

TEST(Ridge, RefusesParametersAndSamplesThatMakeNoSense) {
  SmallProblem problem(20, 3, 4, 2);
  ThreadPool pool(1);
  Ridge ridge(problem.samples(), pool);
  for (const double lambda :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(ridge.solve(lambda), Error) << lambda;
  problem.labels[3] = 4;
  EXPECT_THROW(Ridge(problem.samples(), pool), Error);
  problem.labels[3] = -1;
  EXPECT_THROW(Ridge(problem.samples(), pool), Error);
  problem.labels.pop_back();
  EXPECT_THROW(Ridge(problem.samples(), pool), Error);
  EXPECT_THROW(Ridge(TrainingSamples{}, pool), Error);
}

void expect_reverse_ridge(const SmallProblem& problem, double lambda) {
  const Eigen::MatrixXd targets = per_sample(problem.semantics, problem.labels);
  Eigen::MatrixXd augmented(targets.rows(), targets.cols() + 1);
  augmented << targets, Eigen::VectorXd::Ones(targets.rows());
  Eigen::MatrixXd system = augmented.transpose() * augmented;
  system.diagonal().head(targets.cols()).array() += lambda;
  const Eigen::MatrixXd expected = solved(system, augmented.transpose() * dense(problem.x));
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
