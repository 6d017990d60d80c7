#pragma once
// Random training samples for the tests of the baselines, and their matrices in double for the slow formulas.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/rng.hpp"
#include "eigen_reference.hpp"
#include "solvers/baselines/linear_map.hpp"

namespace parsnets::test {

struct SmallProblem {
  Matrix<float> x, semantics;
  std::vector<std::int32_t> labels;

  /// Samples around class centres away from zero. With more than two classes, class 1 has no sample.
  SmallProblem(std::size_t n, std::size_t d, std::size_t classes, std::size_t m, bool binary = false,
               double offset = 0.7)
      : x(n, d), semantics(classes, m) {
    Rng rng(n * 1000 + d * 100 + classes * 10 + m);
    for (auto& a : semantics.values())
      a = static_cast<float>(binary ? (rng.uniform() < 0.4 ? 1 : 0) : rng.normal() + 0.5);
    Matrix<double> centres(classes, d);
    for (auto& c : centres.values()) c = offset + rng.normal();
    for (std::size_t l = 0; l < n; ++l) {
      std::int32_t label = static_cast<std::int32_t>(rng.below(classes));
      if (classes > 2 && label == 1) label = 0;
      labels.push_back(label);
      for (std::size_t j = 0; j < d; ++j)
        x(l, j) = static_cast<float>(centres(static_cast<std::size_t>(label), j) + rng.normal());
    }
  }

  TrainingSamples samples() const { return {x.view(), labels, semantics.view()}; }
};

inline Eigen::MatrixXd dense(const Matrix<float>& a) {
  Eigen::MatrixXd result(a.rows(), a.cols());
  for (std::size_t r = 0; r < a.rows(); ++r)
    for (std::size_t c = 0; c < a.cols(); ++c)
      result(static_cast<long>(r), static_cast<long>(c)) = static_cast<double>(a(r, c));
  return result;
}

inline Eigen::VectorXd dense(const std::vector<float>& a) {
  Eigen::VectorXd result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result(static_cast<long>(i)) = static_cast<double>(a[i]);
  return result;
}

/// n x m: the semantics of each sample's class.
inline Eigen::MatrixXd per_sample(const Matrix<float>& semantics, const std::vector<std::int32_t>& labels) {
  const Eigen::MatrixXd all = dense(semantics);
  Eigen::MatrixXd result(labels.size(), all.cols());
  for (std::size_t l = 0; l < labels.size(); ++l) result.row(static_cast<long>(l)) = all.row(labels[l]);
  return result;
}

/// Rows of all classes but the second: those that SmallProblem gives samples (for classes > 2 and enough samples).
inline Eigen::MatrixXd present_rows(const Matrix<float>& semantics) {
  const Eigen::MatrixXd all = dense(semantics);
  Eigen::MatrixXd result(all.rows() - 1, all.cols());
  result << all.row(0), all.bottomRows(all.rows() - 2);
  return result;
}

inline void expect_close(const Eigen::MatrixXd& found, const Eigen::MatrixXd& expected, double tolerance) {
  ASSERT_EQ(found.rows(), expected.rows());
  ASSERT_EQ(found.cols(), expected.cols());
  EXPECT_LE((found - expected).norm(), tolerance * expected.norm())
      << "norm of the expected matrix " << expected.norm();
}

inline void expect_same_bits(const LinearMap& a, const LinearMap& b) {
  ASSERT_EQ(a.weights.rows(), b.weights.rows());
  ASSERT_EQ(a.weights.cols(), b.weights.cols());
  ASSERT_EQ(a.bias.size(), b.bias.size());
  EXPECT_EQ(std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(a.bias.data(), b.bias.data(), a.bias.size() * sizeof(float)), 0);
}

}  // namespace parsnets::test
