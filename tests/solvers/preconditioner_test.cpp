#include "solvers/preconditioner.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.hpp"
#include "base/random_matrix.hpp"

namespace parsnets {

TEST(Preconditioner, SolvesTheRidgeSystem) {
  const std::size_t d = 12;
  ThreadPool pool(2);
  for (const std::size_t rows : {40u, 7u}) {  // of full rank, and not
    const Matrix<float> products = gram_of_columns(pool, test::random_matrix<float>(rows, d, rows).view());
    double trace = 0;
    for (std::size_t i = 0; i < d; ++i) trace += products(i, i);
    const double lambda = 0.7, ridge = lambda * trace / d;
    Matrix<float> inverse(d, d, 0.0f);
    for (std::size_t i = 0; i < d; ++i) inverse(i, i) = 1;
    ridge_preconditioner(products.view(), lambda, pool).solve(pool, inverse.view());
    for (std::size_t a = 0; a < d; ++a)
      for (std::size_t b = 0; b < d; ++b) {
        double entry = ridge * inverse(a, b);
        for (std::size_t c = 0; c < d; ++c) entry += static_cast<double>(products(a, c)) * inverse(c, b);
        EXPECT_NEAR(entry, a == b ? 1 : 0, 1e-5);
      }
  }
}

namespace {

constexpr std::size_t n = 50, h = 4, m = 3, networks = 5, active = 2;

struct DirectionProblem {
  Matrix<float> z = test::random_matrix<float>(n, h, 2), g = test::random_matrix<float>(n, m, 3),
                theta = test::random_matrix<float>(networks * (h + 1), m, 4);
  Matrix<std::uint16_t> open{n, active};
  double constant = 0, eigenvalue = 0;

  DirectionProblem() {
    double squares = 0;
    for (const float v : z.values()) squares += static_cast<double>(v) * v;
    constant = std::sqrt(squares / (n * h));
    eigenvalue = squares / (n * h) * n * active / networks;
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
            return direction(i * (h + 1) + b, j) / (b == 0 ? p.constant : 1.0) * active / weight;
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
