#include <algorithm>
#include <cmath>

#include "expect.hpp"
#include "pool_test.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;
using Dap = test::PoolTest;

struct Logistic {
  Eigen::MatrixXd x;  // n x (d + 1), a last column of ones
  Eigen::VectorXd target;
  double lambda;

  Eigen::VectorXd probabilities(const Eigen::VectorXd& w) const { return (1 + (-(x * w).array()).exp()).inverse(); }
  Eigen::VectorXd penalty() const {
    Eigen::VectorXd p = Eigen::VectorXd::Constant(x.cols(), lambda);
    p(x.cols() - 1) = 0;
    return p;
  }
  Eigen::VectorXd gradient(const Eigen::VectorXd& w) const {
    return x.transpose() * (probabilities(w) - target) + penalty().cwiseProduct(w);
  }
  double value(const Eigen::VectorXd& w) const {
    const Eigen::ArrayXd f = x * w;
    return ((1 + (-f.abs()).exp()).log() + f.max(0) - target.array() * f).sum() + 0.5 * penalty().dot(w.cwiseAbs2());
  }
  /// Newton's method with halved steps.
  Eigen::VectorXd minimum() const {
    Eigen::VectorXd w = Eigen::VectorXd::Zero(x.cols());
    for (int i = 0; i < 100; ++i) {
      const Eigen::VectorXd p = probabilities(w), g = gradient(w);
      if (g.norm() < 1e-10) break;
      Eigen::MatrixXd hessian = x.transpose() * (p.array() * (1 - p.array())).matrix().asDiagonal() * x;
      hessian.diagonal() += penalty();
      const Eigen::VectorXd step = solved(hessian, g);
      double size = 1;
      while (size > 1e-10 && value(w - size * step) > value(w)) size /= 2;
      w -= size * step;
    }
    return w;
  }
};

struct Attribute {
  Logistic problem;
  double prior_logit;
  bool constant;
};

Attribute attribute_of(const SummedProblem& problem, long j, double lambda) {
  const Eigen::MatrixXd x = dense(problem.x), present = present_rows(problem.semantics);
  Attribute result;
  result.problem.x.resize(x.rows(), x.cols() + 1);
  result.problem.x << x, Eigen::VectorXd::Ones(x.rows());
  result.problem.target = per_sample(problem.semantics, problem.labels).col(j);
  result.problem.lambda = lambda;
  const double mean = present.col(j).mean(), clipped = std::clamp(mean, 0.01, 0.99);
  result.prior_logit = std::log(clipped / (1 - clipped));
  result.constant = mean == 0 || mean == 1;
  return result;
}

DapResult dap_of(const SummedProblem& problem, double lambda, ThreadPool& pool, ProgressObserver* progress = nullptr) {
  return solve_dap(problem.samples(), problem.x.view(), problem.labels, lambda, pool, progress);
}

void expect_dap(const SummedProblem& problem, double lambda) {
  ThreadPool pool(2);
  const DapResult result = dap_of(problem, lambda, pool);
  EXPECT_LE(result.relative_gradient, 1e-4);
  EXPECT_GT(result.iterations, 1);
  EXPECT_LT(result.iterations, 200);
  const long d = static_cast<long>(problem.x.cols());
  int varied = 0;
  for (long j = 0; j < static_cast<long>(problem.semantics.cols()); ++j) {
    const Attribute attribute = attribute_of(problem, j, lambda);
    if (attribute.constant) continue;
    ++varied;
    Eigen::VectorXd found(d + 1);
    found << dense(result.map.weights).col(j),
        static_cast<double>(result.map.bias[static_cast<std::size_t>(j)]) + attribute.prior_logit;
    const Eigen::VectorXd expected = attribute.problem.minimum();
    ASSERT_LT(attribute.problem.gradient(expected).norm(), 1e-6);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(d + 1);
    expect_close(found, expected, 5e-3);
    EXPECT_LE(attribute.problem.gradient(found).norm(), 1e-3 * attribute.problem.gradient(zero).norm());
    EXPECT_LE(attribute.problem.value(found) - attribute.problem.value(expected), 1e-6 * attribute.problem.value(zero));
  }
  EXPECT_GE(varied, 3);
}

TEST_F(Dap, FindsTheMinimumOfEachAttributeAndSubtractsThePrior) {
  for (const double lambda : {0.3, 3.0, 100.0}) {
    expect_dap(SummedProblem(120, 6, 8, 5, true), lambda);
    expect_dap(SummedProblem(40, 53, 7, 6, true), lambda);  // more features than samples
  }
}

TEST_F(Dap, ScoresClassesByTheLogOddsOfTheirAttributes) {
  const SummedProblem problem(120, 6, 8, 5, true);
  const LinearMap map = dap_of(problem, 1.0, pool).map;
  const Eigen::VectorXd x = dense(problem.x).row(7).transpose();
  const Eigen::VectorXd scores = dense(problem.semantics) * (dense(map.weights).transpose() * x + dense(map.bias));
  // log Π p(a_m|x)/p(a_m), term by term; it may differ from the score by one constant for all classes.
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(8);
  for (long j = 0; j < 5; ++j) {
    const Attribute attribute = attribute_of(problem, j, 1.0);
    if (attribute.constant) continue;
    const double p = attribute.problem.probabilities(attribute.problem.minimum())(7),
                 prior = 1 / (1 + std::exp(-attribute.prior_logit));
    for (long c = 0; c < 8; ++c)
      expected(c) += dense(problem.semantics)(c, j) > 0 ? std::log(p / prior) : std::log((1 - p) / (1 - prior));
  }
  const Eigen::VectorXd difference = scores - expected;
  EXPECT_LT((difference.array() - difference.mean()).abs().maxCoeff(), 1e-2);
}

TEST_F(Dap, GivesAnAttributeThatNeverVariesAZeroMap) {
  SummedProblem problem(60, 5, 6, 4, true);
  for (std::size_t c = 0; c < 6; ++c) {
    problem.semantics(c, 0) = c == 1 ? 0 : 1;  // class 1 has no samples
    problem.semantics(c, 2) = 0;
    problem.semantics(c, 3) = c == 2 ? 1 : 0;
  }
  const DapResult result = dap_of(problem, 0.5, pool);
  for (const long j : {0, 2}) {
    EXPECT_EQ(dense(result.map.weights).col(j).norm(), 0);
    EXPECT_EQ(result.map.bias[static_cast<std::size_t>(j)], 0.0f);
  }
  EXPECT_GT(dense(result.map.weights).col(3).norm(), 0);
  for (std::size_t c = 0; c < 6; ++c)
    for (std::size_t j = 0; j < 4; ++j) problem.semantics(c, j) = 1;
  EXPECT_EQ(dap_of(problem, 0.5, pool).iterations, 0);
}

TEST_F(Dap, GivesTheSameBitsForAnyNumberOfThreads) {
  const SummedProblem tall(600, 200, 20, 30, true), wide(140, 500, 20, 5, true);
  ThreadPool one(1), two(2);
  for (const SummedProblem* problem : {&tall, &wide}) {
    const DapResult a = dap_of(*problem, 1.0, one), b = dap_of(*problem, 1.0, two);
    expect_same_bits(a.map, b.map);
    EXPECT_EQ(a.iterations, b.iterations);
    EXPECT_EQ(a.relative_gradient, b.relative_gradient);
    EXPECT_LE(a.relative_gradient, 1e-4);
  }
}

TEST_F(Dap, RefusesAttributesThatAreNotBinary) {
  SummedProblem problem(20, 3, 4, 2, true);
  EXPECT_THROW(dap_of(problem, 0.0, pool), Error);
  problem.semantics(2, 1) = 0.5f;
  EXPECT_THROW(dap_of(problem, 1.0, pool), Error);
}

TEST_F(Dap, CanBeCancelledAtEveryIteration) {
  struct StopAt : ProgressObserver {
    int left;
    explicit StopAt(int steps) : left(steps) {}
    bool on_progress(const ProgressEvent&) override { return left-- > 0; }
  };
  const SummedProblem problem(120, 6, 8, 5, true);
  StopAt never(1000);
  const DapResult whole = dap_of(problem, 1.0, pool, &never);
  const int reports = 1000 - never.left;
  EXPECT_GE(reports, whole.iterations);
  for (const int steps : {0, reports / 2, reports - 1}) {
    StopAt stop(steps);
    EXPECT_EQ(code_of([&] { dap_of(problem, 1.0, pool, &stop); }), ErrorCode::cancelled) << steps;
  }
}

}  // namespace
}  // namespace parsnets
