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

}  // namespace parsnets
