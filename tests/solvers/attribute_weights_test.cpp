#include "solvers/attribute_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random_matrix.hpp"
#include "eigen_reference.hpp"

namespace parsnets {
namespace {

const auto noise = test::random_matrix<double>;

AttributeProblem random_problem(std::size_t classes, std::size_t attributes, double width, double whitening) {
  AttributeProblem problem{noise(classes, attributes, 3), true, noise(classes, 4, 4), whitening, 0.3, width};
  for (double& v : problem.attributes.values()) v = std::abs(v) + 0.1;
  return problem;
}

/// The mean cosine between class means and the places predicted by kernel ridge regression without the class, class by
/// class.
double slow_loss(const AttributeProblem& problem, const std::vector<double>& t) {
  const auto count = static_cast<long>(problem.attributes.rows());
  const auto dense = [](const Matrix<double>& a) -> Eigen::MatrixXd {
    return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
        a.data(), static_cast<long>(a.rows()), static_cast<long>(a.cols()));
  };
  const Eigen::MatrixXd values = dense(problem.attributes), m = dense(problem.means);
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(count, count);
  long first = 0;
  for (const auto& [columns, weight] :
       problem.tables.empty() ? std::vector<AttributeTable>{{problem.attributes.cols(), 1}} : problem.tables) {
    Eigen::MatrixXd b = values.middleCols(first, static_cast<long>(columns));
    for (long j = 0; j < b.cols(); ++j) b.col(j) *= std::exp(t[static_cast<std::size_t>(first + j)]);
    first += b.cols();
    if (problem.unit_length) b.rowwise().normalize();
    b.rowwise() -= b.colwise().mean().eval();
    const test::SymmetricEigen eigen = test::symmetric_eigen(b * b.transpose());
    const Eigen::VectorXd l = eigen.values.cwiseMax(0);
    const Eigen::VectorXd whitened = l.array() * (l.array() + 1e-3 * l.maxCoeff()).pow(-problem.whitening);
    gram += weight * static_cast<double>(count) / whitened.sum() *
            (eigen.vectors * whitened.asDiagonal() * eigen.vectors.transpose());
  }
  Eigen::MatrixXd kernel(count, count);
  for (long c = 0; c < count; ++c)
    for (long s = 0; s < count; ++s) {
      const double cosine = gram(c, s) / std::sqrt(gram(c, c) * gram(s, s));
      kernel(c, s) = problem.width > 0 ? std::exp((cosine - 1) / (problem.width * problem.width)) : cosine;
    }
  double loss = 0;
  for (long out = 0; out < count; ++out) {
    std::vector<long> others;
    for (long c = 0; c < count; ++c)
      if (c != out) others.push_back(c);
    const Eigen::MatrixXd k = kernel(others, others);
    const Eigen::MatrixXd alpha =
        test::solved(k + problem.lambda * Eigen::MatrixXd::Identity(count - 1, count - 1), m(others, Eigen::all));
    const Eigen::VectorXd place = (kernel(out, others) * alpha).transpose();
    loss -= place.normalized().dot(m.row(out).transpose().normalized()) / static_cast<double>(count);
  }
  return loss;
}

TEST(AttributeWeights, LossIsThatOfLeavingEachClassOut) {
  for (const double width : {0.0, 1.2})
    for (const double whitening : {0.0, 0.4})
      for (const std::size_t attributes : {5u, 20u}) {
        AttributeProblem problem = random_problem(9, attributes, width, whitening);
        if (attributes == 20 && whitening > 0) problem.tables = {{7, 0.3}, {13, 0.7}};
        const Matrix<double> t = noise(1, attributes, 5);
        const std::vector<double> log_weights(t.data(), t.data() + attributes);
        EXPECT_NEAR(leave_one_out_loss(problem, log_weights), slow_loss(problem, log_weights), 1e-9);
      }
}

TEST(AttributeWeights, SlopeIsThatOfFiniteDifferences) {
  for (const double width : {0.0, 1.2})
    for (const bool unit : {true, false})
      for (const std::size_t attributes : {5u, 20u}) {
        AttributeProblem problem = random_problem(9, attributes, width, 0.35);
        problem.unit_length = unit;
        if (attributes == 20) problem.tables = {{7, 0.3}, {13, 0.7}};
        const Matrix<double> noisy = noise(1, attributes, 6);
        std::vector<double> t(attributes), slope(attributes);
        for (std::size_t j = 0; j < attributes; ++j) t[j] = 0.3 * noisy(0, j);
        leave_one_out_loss(problem, t, slope);
        for (std::size_t j = 0; j < attributes; ++j) {
          constexpr double kStep = 1e-5;
          std::vector<double> more = t, less = t;
          more[j] += kStep;
          less[j] -= kStep;
          const double difference =
              (leave_one_out_loss(problem, more) - leave_one_out_loss(problem, less)) / (2 * kStep);
          EXPECT_NEAR(slope[j], difference, 1e-7 + 1e-5 * std::abs(difference)) << j;
        }
      }
}

TEST(AttributeWeights, AttributesThatSayNothingLoseWeight) {
  constexpr std::size_t kClasses = 150;
  AttributeProblem problem = random_problem(kClasses, 8, 1.0, 0);
  problem.attributes = noise(kClasses, 8, 7);
  for (std::size_t c = 0; c < kClasses; ++c)  // the means follow the first four attributes, the others drown them
    for (std::size_t j = 0; j < 4; ++j) {
      problem.means(c, j) = problem.attributes(c, j);
      problem.attributes(c, 4 + j) *= 4;
    }
  const auto weights = learn_attribute_weights(problem, 8);
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t other = 4; other < 8; ++other) EXPECT_GT(weights[j], weights[other]);
  std::vector<double> t(8, 0.0);
  const double before = leave_one_out_loss(problem, t);
  std::ranges::transform(weights, t.begin(), [](double w) { return std::log(w); });
  EXPECT_LT(leave_one_out_loss(problem, t), before - 0.01);
  EXPECT_EQ(learn_attribute_weights(problem, 0), std::vector<double>(8, 1.0));
}

}  // namespace
}  // namespace parsnets
