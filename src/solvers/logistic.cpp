// min_{w,b} Σ_i ω_i·log(1 + exp(−t_i·(wᵀz_i + b))) + ½λ‖w‖²
// with t_i = ±1, ω the importance of the samples divided by its sum, and z the columns of x with weighted mean 0 and
// variance 1. Strictly convex in w: Newton's method, each step halved until the objective falls (Boyd & Vandenberghe,
// Convex Optimization, 9.5.2).

#include "solvers/logistic.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr double kTolerance = 1e-10;  // of a component of the gradient; the objective is at most log 2
constexpr int kMaxSteps = 100;

/// log(1 + exp(v)) without overflow.
double softplus(double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); }

struct Problem {
  Matrix<double> z;           // n x (p + 1), the last column is 1
  std::vector<double> omega;  // n
  std::span<const std::uint8_t> positive;
  double lambda;

  double margin(std::size_t i, std::span<const double> w) const {
    double sum = 0;
    for (std::size_t j = 0; j < w.size(); ++j) sum += w[j] * z(i, j);
    return sum;
  }
  double objective(std::span<const double> w) const {
    double sum = 0;
    for (std::size_t j = 0; j + 1 < w.size(); ++j) sum += lambda / 2 * w[j] * w[j];
    for (std::size_t i = 0; i < omega.size(); ++i) {
      const double f = margin(i, w);
      sum += omega[i] * softplus(positive[i] ? -f : f);
    }
    return sum;
  }
  void derive(std::span<const double> w, std::vector<double>& gradient, Matrix<double>& hessian) const {
    const std::size_t p = w.size();
    gradient.assign(p, 0.0);
    hessian = Matrix<double>(p, p, 0.0);
    for (std::size_t j = 0; j + 1 < p; ++j) {
      gradient[j] = lambda * w[j];
      hessian(j, j) = lambda;
    }
    for (std::size_t i = 0; i < omega.size(); ++i) {
      const double share = 1 / (1 + std::exp(-margin(i, w))), slope = omega[i] * (share - (positive[i] ? 1 : 0)),
                   curvature = omega[i] * share * (1 - share);
      for (std::size_t j = 0; j < p; ++j) {
        gradient[j] += slope * z(i, j);
        for (std::size_t l = 0; l <= j; ++l) hessian(j, l) += curvature * z(i, j) * z(i, l);
      }
    }
    for (std::size_t j = 0; j < p; ++j)
      for (std::size_t l = 0; l < j; ++l) hessian(l, j) = hessian(j, l);
  }
};

}  // namespace

double LogisticFit::operator()(std::span<const float> row) const {
  double sum = intercept;
  for (std::size_t j = 0; j < weights.size(); ++j) sum += weights[j] * static_cast<double>(row[j]);
  return sum;
}

LogisticFit fit_logistic(MatrixView<const float> x, std::span<const std::uint8_t> positive,
                         std::span<const double> importance, double lambda) {
  const std::size_t n = x.rows(), p = x.cols();
  const auto ones = static_cast<std::size_t>(std::ranges::count(positive, std::uint8_t{1}));
  if (ones == 0 || ones == n) throw Error(ErrorCode::usage, "logistic regression: expected samples of both groups");
  double total = 0;
  for (const double v : importance) total += v;
  Problem problem{Matrix<double>(n, p + 1, 1.0), std::vector<double>(n), positive, lambda};
  for (std::size_t i = 0; i < n; ++i) problem.omega[i] = importance[i] / total;
  std::vector<double> mean(p, 0.0), factor(p, 0.0);
  for (std::size_t j = 0; j < p; ++j) {
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) mean[j] += problem.omega[i] * static_cast<double>(x(i, j));
    for (std::size_t i = 0; i < n; ++i) {
      const double v = static_cast<double>(x(i, j)) - mean[j];
      square += problem.omega[i] * v * v;
    }
    factor[j] = square > 1e-12 * mean[j] * mean[j] ? 1 / std::sqrt(square) : 0;
    for (std::size_t i = 0; i < n; ++i) problem.z(i, j) = factor[j] * (static_cast<double>(x(i, j)) - mean[j]);
  }

  std::vector<double> w(p + 1, 0.0), gradient, next(p + 1);
  Matrix<double> hessian;
  LogisticFit fit;
  ThreadPool caller(1);
  double value = problem.objective(w);
  for (;; ++fit.steps) {
    problem.derive(w, gradient, hessian);
    fit.gradient = std::abs(std::ranges::max(gradient, {}, [](double v) { return std::abs(v); }));
    if (fit.gradient <= kTolerance || fit.steps == kMaxSteps) break;
    Matrix<double> step(p + 1, 1);
    std::ranges::copy(gradient, step.data());
    Cholesky(std::move(hessian), 1e-12).solve(caller, step.view());
    double length = 1, slope = 0;
    for (std::size_t j = 0; j <= p; ++j) slope += gradient[j] * step(j, 0);
    const auto move = [&] {
      for (std::size_t j = 0; j <= p; ++j) next[j] = w[j] - length * step(j, 0);
      return problem.objective(next);
    };
    double moved = move();
    while (moved > value - 1e-4 * length * slope && length > 1e-8) {
      length /= 2;
      moved = move();
    }
    if (!(moved < value)) break;  // no further by rounding; the gradient tells how far that is
    w = next;
    value = moved;
  }
  fit.intercept = w[p];
  for (std::size_t j = 0; j < p; ++j) {
    fit.weights.push_back(w[j] * factor[j]);
    fit.intercept -= fit.weights[j] * mean[j];
  }
  return fit;
}

}  // namespace parsnets
