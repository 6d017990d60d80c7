// Maximal margin geometry against an SVD, finite differences and the theorems it rests on.

#include "solvers/mmg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/linalg.hpp"
#include "base/random_matrix.hpp"
#include "eigen_reference.hpp"
#include "expect.hpp"
#include "pool_test.hpp"
#include "solvers/svr_problem.hpp"

namespace parsnets {
namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Labels = std::vector<std::int32_t>;
using test::code_of;
using test::same_bits;
using Mmg = test::PoolTest;
using OrthonormalNetworks = test::PoolTest;

const auto normal_matrix = test::random_matrix<float>;

Dense dense(MatrixView<const float> a) {
  return Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
             a.data(), static_cast<Eigen::Index>(a.rows()), static_cast<Eigen::Index>(a.cols()))
      .cast<double>();
}

Matrix<float> from_dense(const Dense& a) {
  Matrix<float> out(static_cast<std::size_t>(a.rows()), static_cast<std::size_t>(a.cols()));
  for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] = static_cast<float>(a.data()[i]);
  return out;
}

double svd_norm(const Dense& a) { return test::singular_values(a).sum(); }

Dense orthogonal(std::size_t size, std::uint64_t seed) {
  Matrix<double> q = to_double(normal_matrix(size, size, seed).view());
  orthonormalise_rows(q.view());
  return Eigen::Map<Dense>(q.data(), static_cast<Eigen::Index>(size), static_cast<Eigen::Index>(size));
}

Labels cyclic_labels(std::size_t n, int classes) {
  Labels labels(n);
  for (std::size_t i = 0; i < n; ++i) labels[i] = 7 * (static_cast<int>(i) % classes) - 3;
  return labels;
}

// g by its definition, from SVDs.
double reference_mmg(const Dense& y, const Labels& labels) {
  Labels names = labels;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  double g = -svd_norm(y);
  for (const std::int32_t name : names) {
    Dense part(std::count(labels.begin(), labels.end(), name), y.cols());
    Eigen::Index row = 0;
    for (std::size_t l = 0; l < labels.size(); ++l)
      if (labels[l] == name) part.row(row++) = y.row(static_cast<Eigen::Index>(l));
    g += svd_norm(part);
  }
  return g;
}

Dense unit_rows(Dense y) {
  for (Eigen::Index r = 0; r < y.rows(); ++r)
    if (y.row(r).norm() > 0) y.row(r) /= y.row(r).norm();
  return y;
}

// Central differences of `value` along random directions against <gradient, direction>.
template <class F>
void expect_gradient(const Dense& at, const Dense& gradient, F value, double tolerance) {
  Rng rng(99);
  for (int trial = 0; trial < 6; ++trial) {
    Dense direction(at.rows(), at.cols());
    for (Eigen::Index i = 0; i < direction.size(); ++i) direction.data()[i] = rng.normal();
    const double step = 1e-5 * at.norm() / direction.norm();
    const double slope = (value(at + step * direction) - value(at - step * direction)) / (2 * step);
    EXPECT_NEAR(slope, gradient.cwiseProduct(direction).sum(), tolerance * gradient.norm() * direction.norm());
  }
}

TEST_F(Mmg, EqualsItsDefinitionAndIsNeverNegative) {
  Rng rng(6);
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const std::size_t n = 4 + rng.below(40), m = 1 + rng.below(15);
    const Matrix<float> y = normal_matrix(n, m, trial);
    const Labels labels = cyclic_labels(n, 1 + static_cast<int>(rng.below(4)));
    const MmgValue g = mmg_of_unit_rows(y.view(), labels, false, pool);
    EXPECT_GE(g.value, -1e-9 * g.classes);
    EXPECT_NEAR(g.value, reference_mmg(unit_rows(dense(y.view())), labels) / static_cast<double>(n), 1e-9 * g.classes);
    EXPECT_LE(g.value, g.classes);
  }
}

TEST_F(Mmg, IsZeroForOrthogonalClassesAndOneClassAndPositiveOtherwise) {
  const Dense q = orthogonal(9, 8), mix = dense(normal_matrix(15, 3, 9).view());
  const Labels labels = cyclic_labels(15, 3);
  Dense apart(15, 9), together(15, 9);
  for (Eigen::Index l = 0; l < 15; ++l) {
    apart.row(l) = mix.row(l) * q.middleRows(3 * (l % 3), 3);
    together.row(l) = mix.row(l) * q.middleRows(2 * (l % 3), 3);  // neighbours share an axis
  }
  const auto g = [&](const Dense& y, const Labels& l) { return mmg_of_unit_rows(from_dense(y).view(), l, true, pool); };
  EXPECT_NEAR(g(apart, labels).value / g(apart, labels).classes, 0, 1e-6);
  EXPECT_GT(g(together, labels).value / g(together, labels).classes, 1e-2);
  EXPECT_LT(dense(g(apart, labels).gradient.view()).norm(), 1e-5);
  EXPECT_EQ(g(together, cyclic_labels(15, 1)).value, 0);
  EXPECT_EQ(dense(g(together, cyclic_labels(15, 1)).gradient.view()).norm(), 0);
}

TEST_F(Mmg, GradientsMatchFiniteDifferences) {
  for (const std::size_t m : {5, 30}) {  // 24 samples, 8 in a class: both Gram sides, whole and classes
    const Matrix<float> y = normal_matrix(24, m, m);
    const Labels labels = cyclic_labels(24, 3);
    const auto value = [&](const Dense& x) { return reference_mmg(unit_rows(x), labels) / 24; };
    expect_gradient(dense(y.view()), dense(mmg_of_unit_rows(y.view(), labels, true, pool).gradient.view()), value,
                    1e-5);
  }
}

TEST_F(Mmg, DoesNotChangeWhenTheSemanticSpaceIsRotated) {
  const Matrix<float> y = normal_matrix(40, 5, 21);
  const Labels labels = cyclic_labels(40, 4);
  const Dense r = orthogonal(5, 22);
  const Matrix<float> turned = from_dense(dense(y.view()) * r);
  const MmgValue a = mmg_of_unit_rows(y.view(), labels, true, pool),
                 b = mmg_of_unit_rows(turned.view(), labels, true, pool);
  EXPECT_NEAR(a.value, b.value, 1e-6 * a.classes);
  EXPECT_LT((dense(a.gradient.view()) * r - dense(b.gradient.view())).norm(), 1e-5 * dense(a.gradient.view()).norm());
}

TEST_F(Mmg, RowsOfZerosGetNoGradientOfUnitRows) {
  Matrix<float> y = normal_matrix(12, 5, 24);
  for (float& v : y.row(4)) v = 0;
  const MmgValue g = mmg_of_unit_rows(y.view(), cyclic_labels(12, 3), true, pool);
  for (const float v : g.gradient.row(4)) EXPECT_EQ(v, 0.0f);
  EXPECT_TRUE(std::isfinite(g.value));
  EXPECT_GT(dense(g.gradient.view()).norm(), 0);
  const MmgValue none = mmg_of_unit_rows(Matrix<float>(4, 3, 0.0f).view(), cyclic_labels(4, 2), true, pool);
  EXPECT_EQ(none.value, 0);
  for (const float v : none.gradient.values()) EXPECT_EQ(v, 0.0f);
}

struct Networks {
  test::SvrProblem problem = test::make_problem(60, 5, 6, 2, 4, 31);
  Labels labels = cyclic_labels(60, 3);
  Matrix<float> theta = normal_matrix(6 * 6, 4, 32);
};

// The sum over networks by its definition.
double reference_networks(const Networks& p, const Dense& theta) {
  const Dense z = dense(p.problem.z.view());
  double total = 0, pairs = 0;
  for (Eigen::Index i = 0; i < 6; ++i) {
    const Dense q = theta.middleRows(i * 6 + 1, 5);
    std::vector<Eigen::Index> rows;
    Labels labels;
    for (Eigen::Index l = 0; l < 60; ++l) {
      const auto open = p.problem.open.row(static_cast<std::size_t>(l));
      if (std::find(open.begin(), open.end(), i) == open.end()) continue;
      rows.push_back(l);
      labels.push_back(p.labels[static_cast<std::size_t>(l)]);
    }
    pairs += static_cast<double>(rows.size());
    if (q.norm() > 0) total += reference_mmg(z(rows, Eigen::all) * q / q.norm(), labels);
  }
  return total / pairs;
}

TEST_F(Mmg, ValueAndGradientOfNetworksMatchTheDefinition) {
  const Networks p;
  const NetworkMmg g = mmg_of_networks(p.problem.samples(), p.labels, p.theta.view(), true, pool);
  const Dense theta = dense(p.theta.view()), gradient = dense(g.gradient.view());
  EXPECT_NEAR(g.value, reference_networks(p, theta), 1e-6 * g.classes);
  EXPECT_GT(g.value, 0);
  expect_gradient(
      theta, gradient, [&](const Dense& x) { return reference_networks(p, x); }, 1e-4);
  double largest = 0;
  for (Eigen::Index i = 0; i < 6; ++i) {
    EXPECT_EQ(gradient.row(i * 6).norm(), 0);  // biases
    const Dense a = theta.middleRows(i * 6 + 1, 5);
    EXPECT_NEAR(gradient.middleRows(i * 6 + 1, 5).cwiseProduct(a).sum(), 0, 1e-6 * gradient.norm() * a.norm());
    for (Eigen::Index j = 0; j < i; ++j) {
      const Dense b = theta.middleRows(j * 6 + 1, 5);
      largest = std::max(largest, std::fabs(a.cwiseProduct(b).sum()) / a.norm() / b.norm());
    }
  }
  EXPECT_NEAR(network_orthogonality(p.theta.view(), 6, pool), largest, 1e-9);
}

TEST_F(Mmg, ScaleAndBiasOfANetworkDoNotCountAndAZeroNetworkAddsNothing) {
  const Networks p;
  const auto g = [&](const Matrix<float>& theta) {
    return mmg_of_networks(p.problem.samples(), p.labels, theta.view(), true, pool);
  };
  Matrix<float> scaled = Matrix<float>::copy_of(p.theta.view());
  for (std::size_t r = 6; r < 12; ++r)
    for (float& v : scaled.row(r)) v *= r == 6 ? -3.0f : 8.0f;
  EXPECT_EQ(g(scaled).value, g(p.theta).value);
  for (std::size_t r = 7; r < 12; ++r)
    for (float& v : scaled.row(r)) v = 0;
  const NetworkMmg less = g(scaled);
  EXPECT_LT(less.value, g(p.theta).value);
  EXPECT_NEAR(less.value, reference_networks(p, dense(scaled.view())), 1e-6 * less.classes);
  for (std::size_t r = 6; r < 12; ++r)
    for (const float v : less.gradient.row(r)) EXPECT_EQ(v, 0.0f);
}

// K x (h·m) directions, biases left out.
Dense directions(MatrixView<const float> theta, std::size_t count) {
  const Dense all = dense(theta);
  const Eigen::Index rows = all.rows() / static_cast<Eigen::Index>(count);
  Dense q(static_cast<Eigen::Index>(count), (rows - 1) * all.cols());
  for (Eigen::Index i = 0; i < q.rows(); ++i) {
    const Dense part = all.middleRows(i * rows + 1, rows - 1);
    q.row(i) = Eigen::Map<const Eigen::RowVectorXd>(part.data(), part.size());
  }
  return unit_rows(q);
}

TEST_F(OrthonormalNetworks, AreOrthogonalKeepNormsAndBiasesAndAreTheNearest) {
  Rng rng(40);
  Matrix<float> theta = normal_matrix(5 * 4, 6, 41);  // 5 networks of 3 x 6
  for (std::size_t i = 0; i < 5; ++i)                 // correlated, of very different norms
    for (std::size_t e = 6; e < 24; ++e)
      theta.data()[i * 24 + e] =
          (theta.data()[i * 24 + e] + 0.8f * theta.data()[e]) * std::pow(10.0f, static_cast<float>(i) - 2);
  const Matrix<float> out = orthonormal_networks(theta.view(), 5, pool).value();
  const Dense q = directions(theta.view(), 5), p = directions(out.view(), 5);
  EXPECT_GT(network_orthogonality(theta.view(), 5, pool), 0.3);
  EXPECT_LT((p * p.transpose() - Dense::Identity(5, 5)).cwiseAbs().maxCoeff(), 1e-6);
  for (Eigen::Index i = 0; i < 5; ++i) {
    const Dense before = dense(theta.view()).middleRows(i * 4, 4), after = dense(out.view()).middleRows(i * 4, 4);
    EXPECT_EQ((before.row(0) - after.row(0)).norm(), 0);
    EXPECT_NEAR(after.bottomRows(3).norm(), before.bottomRows(3).norm(), 1e-6 * before.norm());
  }
  const double nearest = (p - q).squaredNorm();
  EXPECT_GT(nearest, 0.1);
  for (std::uint64_t trial = 0; trial < 300; ++trial) {  // far away, and near by
    EXPECT_GT((orthogonal(18, 1000 + trial).topRows(5) - q).squaredNorm(), nearest);
    Matrix<double> near(5, 18);
    for (std::size_t e = 0; e < near.size(); ++e) near.data()[e] = p.data()[e] + 1e-3 * rng.normal();
    const Dense other = test::polar_factor(Eigen::Map<Dense>(near.data(), 5, 18));
    EXPECT_GT((other - q).squaredNorm(), nearest);
  }
  const Matrix<float> again = orthonormal_networks(out.view(), 5, pool).value();
  EXPECT_LT((directions(again.view(), 5) - p).norm(), 1e-6);
}

TEST_F(OrthonormalNetworks, LeaveZeroNetworksOutAndRefuseWhatIsImpossible) {
  Matrix<float> theta = normal_matrix(3 * 3, 2, 42);
  for (std::size_t e = 8; e < 12; ++e) theta.data()[e] = 0;  // the weights of network 1
  const Matrix<float> out = orthonormal_networks(theta.view(), 3, pool).value();
  for (std::size_t e = 6; e < 12; ++e) EXPECT_EQ(out.data()[e], theta.data()[e]);
  EXPECT_LT(network_orthogonality(out.view(), 3, pool), 1e-6);

  const Matrix<float> many = normal_matrix(5 * 3, 2, 43);  // 5 networks of 4 weights
  EXPECT_FALSE(orthonormal_networks(many.view(), 5, pool).has_value());
  std::copy_n(theta.data(), 6, theta.data() + 12);
  EXPECT_FALSE(orthonormal_networks(theta.view(), 3, pool).has_value());
  EXPECT_EQ(code_of([&] { orthonormal_networks(theta.view(), 4, pool); }), ErrorCode::bad_input);
}

TEST_F(Mmg, ThreadCountDoesNotChangeBits) {
  const Networks p;
  const Matrix<float> y = normal_matrix(700, 150, 51), wide = normal_matrix(4 * 41, 150, 52);
  const Labels labels = cyclic_labels(700, 9);
  ThreadPool one(1), three(3);
  const MmgValue a = mmg_of_unit_rows(y.view(), labels, true, one), b = mmg_of_unit_rows(y.view(), labels, true, three);
  EXPECT_EQ(a.value, b.value);
  EXPECT_TRUE(same_bits(a.gradient, b.gradient));
  const NetworkMmg c = mmg_of_networks(p.problem.samples(), p.labels, p.theta.view(), true, one),
                   d = mmg_of_networks(p.problem.samples(), p.labels, p.theta.view(), true, three);
  EXPECT_EQ(c.value, d.value);
  EXPECT_TRUE(same_bits(c.gradient, d.gradient));
  EXPECT_TRUE(same_bits(*orthonormal_networks(wide.view(), 4, one), *orthonormal_networks(wide.view(), 4, three)));
}

TEST_F(Mmg, RefusesImpossibleInputs) {
  const Networks p;
  Matrix<float> y = normal_matrix(6, 3, 61);
  const Labels labels = cyclic_labels(6, 2);
  EXPECT_EQ(code_of([&] { mmg_of_unit_rows(y.view(), cyclic_labels(5, 2), false, pool); }), ErrorCode::bad_input);
  y(2, 1) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(code_of([&] { mmg_of_unit_rows(y.view(), labels, false, pool); }), ErrorCode::bad_input);
  GatedSamples samples = p.problem.samples();
  samples.networks = 4;  // the gates name networks 4 and 5
  EXPECT_EQ(code_of([&] {
              mmg_of_networks(samples, p.labels, {p.theta.data(), 24, 4}, false, pool);
            }),
            ErrorCode::bad_input);
}

}  // namespace
}  // namespace parsnets
