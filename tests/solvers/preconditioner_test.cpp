#include "solvers/preconditioner.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.hpp"
#include "base/rng.hpp"

namespace parsnets {

TEST(Preconditioner, BothSidesSolveTheRidgeSystem) {
  const std::size_t d = 12, m = 3;
  ThreadPool pool(2);
  for (const std::size_t n : {std::size_t{40}, std::size_t{7}}) {
    Rng rng(n);
    Matrix<float> x(n, d), g(n, m), w(d, m);
    for (auto* values : {&x, &g, &w})
      for (float& v : values->values()) v = static_cast<float>(rng.normal());
    double trace = 0;
    for (const float v : x.values()) trace += static_cast<double>(v) * v;
    const double lambda = 0.7, ridge = lambda * trace / d, decay = 0.3;
    const RidgePreconditioner step(x.view(), lambda, pool);
    ASSERT_EQ(step.takes_moments(), d <= n);
    Matrix<float> direction;
    if (step.takes_moments()) {
      Matrix<float> moments(d, m);
      multiply(pool, Trans::yes, x.view(), Trans::no, g.view(), moments.view());
      direction = step.direction_of_moments(moments.view(), decay, w.view(), pool);
    } else {
      direction = step.direction(g.view(), decay, w.view(), pool);
    }
    for (std::size_t j = 0; j < m; ++j)  // (XᵀX + λI)D = XᵀG + ρW, term by term
      for (std::size_t a = 0; a < d; ++a) {
        double left = ridge * direction(a, j), right = decay * w(a, j);
        for (std::size_t l = 0; l < n; ++l) {
          right += static_cast<double>(x(l, a)) * g(l, j);
          for (std::size_t b = 0; b < d; ++b) left += static_cast<double>(x(l, a)) * x(l, b) * direction(b, j);
        }
        EXPECT_NEAR(left, right, 1e-3 * (1 + std::fabs(right)));
      }
  }
}

namespace {

constexpr std::size_t n = 50, h = 4, m = 3, networks = 5, k = 2;

struct DirectionProblem {
  Matrix<float> z{n, h}, g{n, m}, theta{networks * (h + 1), m};
  Matrix<std::uint16_t> open{n, k};
  double constant = 0, eigenvalue = 0;

  DirectionProblem() {
    Rng rng(2);
    double squares = 0;
    for (auto* values : {&z, &g, &theta})
      for (float& v : values->values()) v = static_cast<float>(rng.normal());
    for (const float v : z.values()) squares += static_cast<double>(v) * v;
    constant = std::sqrt(squares / (n * h));
    eigenvalue = squares / (n * h) * n * k / networks;
    for (std::size_t l = 0; l < n; ++l) {  // network 4 is never open
      open(l, 0) = static_cast<std::uint16_t>(l % 3);
      open(l, 1) = 3;
    }
  }

  double input(std::size_t l, std::size_t a) const { return a == 0 ? constant : z(l, a - 1); }
  bool is_open(std::size_t l, std::size_t i) const { return open(l, 0) == i || open(l, 1) == i; }
};

TEST(GatedDirection, SolvesTheRidgeSystemOfEachNetworkOnItsOwnSamples) {
  const DirectionProblem p;
  ThreadPool pool(2);
  const double lambda = 0.6, weight = 0.8, decay = 0.2;
  for (const bool relu : {false, true}) {
    SingleProcess alone;
    const SampleBlock all{0, {}, p.z.view(), p.open.view(), {}};
    const GatedDirection step([&](const auto& take) { take(all); }, networks, lambda, alone, pool);
    Matrix<float> moments(networks * (h + 1), m, 0.0f);
    step.add_moments(all, p.g.view(), p.theta.view(), relu, moments.view(), pool);
    const Matrix<float> direction = step.direction(moments.view(), weight, decay, p.theta.view(), pool);
    for (std::size_t i = 0; i < networks; ++i)
      for (std::size_t j = 0; j < m; ++j)
        for (std::size_t a = 0; a <= h; ++a) {
          const auto coordinate = [&](std::size_t b) {  // of the direction, in inputs [c, z], before weight/k
            return direction(i * (h + 1) + b, j) / (b == 0 ? p.constant : 1.0) * k / weight;
          };
          if (i == 4) {
            EXPECT_EQ(direction(i * (h + 1) + a, j), 0);
            continue;
          }
          double left = lambda * p.eigenvalue * coordinate(a),
                 right = decay * p.theta(i * (h + 1) + a, j) * (a == 0 ? p.constant : 1.0);
          for (std::size_t l = 0; l < n; ++l) {
            if (!p.is_open(l, i)) continue;
            double output = p.theta(i * (h + 1), j);
            for (std::size_t b = 0; b < h; ++b) output += p.theta(i * (h + 1) + 1 + b, j) * p.z(l, b);
            if (!relu || output >= 0) right += p.input(l, a) * p.g(l, j);
            for (std::size_t b = 0; b <= h; ++b) left += p.input(l, a) * p.input(l, b) * coordinate(b);
          }
          EXPECT_NEAR(left, right, 1e-3 * (1 + std::fabs(right)));
        }
  }
}

}  // namespace

}  // namespace parsnets
