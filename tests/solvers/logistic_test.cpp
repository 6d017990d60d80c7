#include "solvers/logistic.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "parsnets/error.hpp"

namespace parsnets {
namespace {

struct Sample {
  Matrix<float> x;
  std::vector<std::uint8_t> positive;
  std::vector<double> importance;
};

/// Two overlapping clouds in p columns of very different scale, with unequal importance.
Sample clouds(std::size_t n, std::size_t p, std::uint64_t seed) {
  Sample s{Matrix<float>(n, p), {}, {}};
  Rng rng(seed);
  for (std::size_t i = 0; i < n; ++i) {
    s.positive.push_back(rng.uniform() < 0.4 ? 1 : 0);
    s.importance.push_back(0.5 + rng.uniform());
    for (std::size_t j = 0; j < p; ++j)
      s.x(i, j) = static_cast<float>(std::pow(10.0, static_cast<double>(j) - 2) *
                                     (rng.normal() + 0.7 * static_cast<double>(s.positive[i]) + 3));
  }
  return s;
}

/// The objective at the head of logistic.cpp, term by term, for weights of x as given.
double objective(const Sample& s, const std::vector<double>& w, double b, double lambda) {
  const std::size_t n = s.x.rows(), p = s.x.cols();
  double total = 0, sum = 0;
  for (const double v : s.importance) total += v;
  for (std::size_t j = 0; j < p; ++j) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < n; ++i) mean += s.importance[i] / total * static_cast<double>(s.x(i, j));
    for (std::size_t i = 0; i < n; ++i)
      square += s.importance[i] / total * std::pow(static_cast<double>(s.x(i, j)) - mean, 2);
    sum += lambda / 2 * w[j] * w[j] * square;  // the weight of the standardised column is w·sd
  }
  for (std::size_t i = 0; i < n; ++i) {
    double f = b;
    for (std::size_t j = 0; j < p; ++j) f += w[j] * static_cast<double>(s.x(i, j));
    sum += s.importance[i] / total * std::log(1 + std::exp(s.positive[i] ? -f : f));
  }
  return sum;
}

TEST(Logistic, NoChangeOfAWeightImprovesTheObjective) {
  constexpr double kLambda = 1e-3;
  const Sample s = clouds(400, 4, 1);
  const LogisticFit fit = fit_logistic(s.x.view(), s.positive, s.importance, kLambda);
  EXPECT_LE(fit.gradient, 1e-10);
  EXPECT_LT(fit.steps, 30);
  const double best = objective(s, fit.weights, fit.intercept, kLambda);
  Rng rng(2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> w = fit.weights;
    for (double& v : w) v *= 1 + 0.02 * rng.normal();
    EXPECT_GE(objective(s, w, fit.intercept * (1 + 0.02 * rng.normal()), kLambda), best);
  }
  // Central differences of the objective as defined vanish.
  for (std::size_t j = 0; j < 4; ++j) {
    const double step = 1e-5 * std::abs(fit.weights[j]);
    std::vector<double> up = fit.weights, down = fit.weights;
    up[j] += step;
    down[j] -= step;
    const double slope = (objective(s, up, fit.intercept, kLambda) - objective(s, down, fit.intercept, kLambda)) /
                         (2 * step) * std::abs(fit.weights[j]);
    EXPECT_NEAR(slope, 0, 1e-7);
  }
}

TEST(Logistic, WithoutInformationTheInterceptIsTheLogOddsOfTheImportance) {
  const Matrix<float> x(4, 1, 5.0f);
  const std::vector<std::uint8_t> positive{1, 0, 0, 0};
  const std::vector<double> importance{3, 1, 2, 3};
  const LogisticFit fit = fit_logistic(x.view(), positive, importance, 1e-3);
  EXPECT_EQ(fit.weights[0], 0);
  EXPECT_NEAR(fit.intercept, std::log(0.5), 1e-8);
  EXPECT_NEAR(fit(x.row(0)), std::log(0.5), 1e-8);
}

TEST(Logistic, SeparableGroupsStayFinite) {
  Matrix<float> x(6, 1);
  std::vector<std::uint8_t> positive;
  for (std::size_t i = 0; i < 6; ++i) {
    x(i, 0) = static_cast<float>(i);
    positive.push_back(i >= 3 ? 1 : 0);
  }
  const LogisticFit fit = fit_logistic(x.view(), positive, std::vector<double>(6, 1.0), 1e-3);
  EXPECT_LE(fit.gradient, 1e-10);
  EXPECT_LT(fit(x.row(2)), 0);
  EXPECT_GT(fit(x.row(3)), 0);
}

TEST(Logistic, OneGroupAloneIsRefused) {
  const Matrix<float> x(3, 1, 1.0f);
  EXPECT_THROW(fit_logistic(x.view(), std::vector<std::uint8_t>{1, 1, 1}, std::vector<double>(3, 1.0), 1e-3), Error);
}

}  // namespace
}  // namespace parsnets
