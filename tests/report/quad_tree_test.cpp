#include "report/quad_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "report/tsne_reference.hpp"

namespace parsnets {

namespace {

using test::normal_matrix;
using test::plain_repulsion;
using test::plain_z;
using test::relative_error;

/// Points as they lie in a finished map: dense clusters far apart, and a few alone.
Matrix<double> clustered_points(std::size_t n) {
  auto y = normal_matrix<double>(n, 2, 5);
  for (std::size_t i = 0; i < n; ++i) {
    y(i, 0) += 12 * std::cos(static_cast<double>(i % 7)) + (i % 50 == 0 ? 30 : 0);
    y(i, 1) += 12 * std::sin(static_cast<double>(i % 7));
  }
  return y;
}

}  // namespace

TEST(QuadTree, IsExactWithoutAnAngle) {
  ThreadPool pool(2);
  const auto y = clustered_points(700);
  Matrix<double> force(700, 2);
  const double z = QuadTree(y.view()).repulsion(0, pool, force.view()), wanted = plain_z(y);
  EXPECT_LT(relative_error(force, plain_repulsion(y)), 1e-12);
  EXPECT_NEAR(z, wanted, 1e-12 * wanted);
}

TEST(QuadTree, IsNearWithAnAngleAndNearerWithASmallerOne) {
  ThreadPool pool(2);
  const auto y = clustered_points(3000);
  const auto wanted = plain_repulsion(y);
  const double wanted_z = plain_z(y);
  double last = 1;
  for (const auto& [theta, bound] : {std::pair{1.0, 0.1}, std::pair{0.5, 0.02}, std::pair{0.2, 0.003}}) {
    Matrix<double> force(3000, 2);
    const double z = QuadTree(y.view()).repulsion(theta, pool, force.view());
    const double error = relative_error(force, wanted);
    EXPECT_LT(error, bound) << theta;
    EXPECT_GT(error, 0) << theta;  // or nothing was approximated
    EXPECT_LT(error, last) << theta;
    EXPECT_NEAR(z, wanted_z, bound * wanted_z) << theta;
    last = error;
  }
}

TEST(QuadTree, TakesCoincidentAndAlmostCoincidentPoints) {
  ThreadPool pool(2);
  Matrix<double> y(400, 2, 0.0);
  for (std::size_t i = 0; i < 100; ++i) y(i, 0) = y(i, 1) = 3;
  const double below = std::nextafter(-1.0, 0.0), above = std::nextafter(below, 0.0);  // their middle rounds to above
  for (std::size_t i = 100; i < 200; ++i) {
    y(i, 0) = i % 2 == 0 ? below : above;
    y(i, 1) = 1;
  }
  for (std::size_t i = 200; i < 400; ++i) y(i, 0) = std::ldexp(1.0, -static_cast<int>(5 * (i - 200)));  // to denormals
  for (const double theta : {0.0, 0.5}) {
    Matrix<double> force(400, 2);
    const double z = QuadTree(y.view()).repulsion(theta, pool, force.view()), wanted = plain_z(y);
    EXPECT_LT(relative_error(force, plain_repulsion(y)), theta == 0 ? 1e-12 : 0.02);
    EXPECT_NEAR(z, wanted, (theta == 0 ? 1e-12 : 0.02) * wanted);
  }
}

}  // namespace parsnets
