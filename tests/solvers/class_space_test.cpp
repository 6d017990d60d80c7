#include "solvers/class_space.hpp"

#include <gtest/gtest.h>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"
#include "solvers/baselines/small_problem.hpp"

namespace parsnets {
namespace {

using namespace test;

/// Everything by its definition, sample by sample.
struct Slow {
  Eigen::MatrixXd x, m, c;  ///< samples minus μ, class means minus μ, C

  Slow(const SmallProblem& problem, const std::vector<std::int32_t>& classes, double rho) : x(dense(problem.x)) {
    x.rowwise() -= x.colwise().mean().eval();
    const long d = x.cols();
    m = Eigen::MatrixXd::Zero(static_cast<long>(classes.size()), d);
    Eigen::MatrixXd within = Eigen::MatrixXd::Zero(d, d);
    for (std::size_t p = 0; p < classes.size(); ++p) {
      long count = 0;
      for (long l = 0; l < x.rows(); ++l)
        if (problem.labels[static_cast<std::size_t>(l)] == classes[p]) {
          m.row(static_cast<long>(p)) += x.row(l);
          ++count;
        }
      m.row(static_cast<long>(p)) /= static_cast<double>(count);
      for (long l = 0; l < x.rows(); ++l)
        if (problem.labels[static_cast<std::size_t>(l)] == classes[p]) {
          const Eigen::VectorXd r = (x.row(l) - m.row(static_cast<long>(p))).transpose();
          within += r * r.transpose();
        }
    }
    within /= static_cast<double>(x.rows());
    c = within + rho * within.trace() / static_cast<double>(d) * Eigen::MatrixXd::Identity(d, d);
  }
};

TEST(ClassSpace, WhitensWithinClassesAndKeepsWhatTellsMeansApart) {
  ThreadPool pool(2);
  for (const auto& problem : {SmallProblem(200, 9, 6, 3), SmallProblem(40, 30, 5, 3), SmallProblem(300, 4, 12, 3)})
    for (const double rho : {0.1, 3.0}) {
      const ClassSpace space(problem.sums(pool), pool);
      const ClassMap map = space.solve(rho, pool);
      const Slow slow(problem, space.classes(), rho);
      const Eigen::MatrixXd v = dense(map.weights);
      const long r = v.cols();
      EXPECT_LE(r, std::min<long>(static_cast<long>(space.classes().size()) - 1, v.rows()));
      EXPECT_LT((v.transpose() * slow.c * v - Eigen::MatrixXd::Identity(r, r)).norm(), 1e-3);
      // Products of means: those of the whole whitened space.
      const Eigen::MatrixXd places = slow.m * v, wanted = slow.m * solved(slow.c, slow.m.transpose());
      EXPECT_LT((places * places.transpose() - wanted).norm(), 2e-3 * wanted.norm());
      for (long p = 0; p < places.rows(); ++p)
        for (long i = 0; i < r; ++i)
          EXPECT_NEAR(map.means(static_cast<std::size_t>(p), static_cast<std::size_t>(i)), places(p, i),
                      1e-3 * places.norm());
    }
}

TEST(ClassSpace, ThePreconditionerIsThatOfRidgeInWhitenedCoordinates) {
  ThreadPool pool(2);
  const SmallProblem problem(150, 8, 5, 3);
  const ClassSpace space(problem.sums(pool), pool);
  const Slow slow(problem, space.classes(), 2.0);
  Matrix<float> solved(8, 8, 0.0f);
  for (std::size_t j = 0; j < 8; ++j) solved(j, j) = 1;
  space.preconditioner(2.0, pool).solve(pool, solved.view());
  const Eigen::MatrixXd wanted = inverse_of(slow.x.transpose() * slow.x + 150.0 * slow.c), inverse = dense(solved);
  EXPECT_LT((inverse - wanted).norm(), 1e-4 * wanted.norm());
  const Eigen::MatrixXd products = slow.x.transpose() * slow.x;
  EXPECT_LT((dense(space.products(pool)) - products).norm(), 1e-5 * products.norm());
}

TEST(ClassSpace, FactorsScaleTheFeatures) {
  ThreadPool pool(1);
  const SmallProblem problem(120, 6, 4, 3);
  std::vector<float> factor{0.5f, 2, 1, 3, 0.1f, 1};
  SmallProblem scaled(120, 6, 4, 3);
  for (std::size_t l = 0; l < 120; ++l)
    for (std::size_t j = 0; j < 6; ++j) scaled.x(l, j) *= factor[j];
  const ClassMap a = ClassSpace(problem.sums(pool), pool, factor).solve(1, pool),
                 b = ClassSpace(scaled.sums(pool), pool).solve(1, pool);
  EXPECT_LT((dense(a.weights) - dense(b.weights)).norm(), 1e-3 * dense(b.weights).norm());
}

TEST(ClassSpace, GivesTheSameBitsForAnyNumberOfThreads) {
  const SmallProblem problem(400, 300, 40, 5);
  ThreadPool one(1), two(2);
  const ClassMap a = ClassSpace(problem.sums(one), one).solve(1, one),
                 b = ClassSpace(problem.sums(two), two).solve(1, two);
  EXPECT_TRUE(std::ranges::equal(a.weights.values(), b.weights.values()));
}

TEST(ClassSpace, WhatCannotBeSolvedIsRefused) {
  ThreadPool pool(1);
  SmallProblem problem(20, 3, 2, 2);
  EXPECT_THROW(ClassSpace(problem.sums(pool), pool).solve(0, pool), Error);
  for (auto& v : problem.x.values()) v = 1;
  EXPECT_THROW(ClassSpace(problem.sums(pool), pool).solve(1, pool), Error);  // equal means
  for (auto& label : problem.labels) label = 0;
  EXPECT_THROW(ClassSpace(problem.sums(pool), pool), Error);
}

}  // namespace
}  // namespace parsnets
