#pragma once
// Random training samples for the tests of the baselines, and their matrices in double for the slow formulas.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/random_matrix.hpp"
#include "base/rng.hpp"
#include "eigen_reference.hpp"
#include "solvers/baselines/linear_map.hpp"

namespace parsnets::test {

inline Eigen::MatrixXd dense(const Matrix<float>& a) {
  Eigen::MatrixXd result(a.rows(), a.cols());
  for (std::size_t r = 0; r < a.rows(); ++r)
    for (std::size_t c = 0; c < a.cols(); ++c)
      result(static_cast<long>(r), static_cast<long>(c)) = static_cast<double>(a(r, c));
  return result;
}

struct SmallProblem {
  Matrix<float> x, semantics;
  std::vector<std::int32_t> labels;

  /// Samples around class centres away from zero. With more than two classes, class 1 has no sample.
  SmallProblem(std::size_t n, std::size_t d, std::size_t classes, std::size_t m, bool binary = false)
      : x(n, d), semantics(classes, m) {
    Rng rng(n * 1000 + d * 100 + classes * 10 + m);
    for (auto& a : semantics.values())
      a = static_cast<float>(binary ? (rng.uniform() < 0.4 ? 1 : 0) : rng.normal() + 0.5);
    Matrix<double> centres(classes, d);
    for (auto& c : centres.values()) c = 0.7 + rng.normal();
    for (std::size_t l = 0; l < n; ++l) {
      std::int32_t label = static_cast<std::int32_t>(rng.below(classes));
      if (classes > 2 && label == 1) label = 0;
      labels.push_back(label);
      for (std::size_t j = 0; j < d; ++j)
        x(l, j) = static_cast<float>(centres(static_cast<std::size_t>(label), j) + rng.normal());
    }
  }

  Statistics sums(ThreadPool& pool) const {
    std::vector<std::string> names;
    for (std::size_t c = 0; c < semantics.rows(); ++c) names.push_back(std::to_string(c));
    std::vector<std::int32_t> rows(labels.size());
    std::iota(rows.begin(), rows.end(), 0);
    Statistics made(FeatureScaling::none, names, x.cols());
    made.add(x.view(), labels, rows, pool);
    return made;
  }
};

/// The same with x centred, and its sums.
struct SummedProblem : SmallProblem {
  Statistics statistics;

  SummedProblem(std::size_t n, std::size_t d, std::size_t classes, std::size_t m, bool binary = false)
      : SmallProblem(n, d, classes, m, binary) {
    const Eigen::RowVectorXd mean = dense(x).colwise().mean();
    for (std::size_t l = 0; l < n; ++l)
      for (std::size_t j = 0; j < d; ++j) x(l, j) = static_cast<float>(x(l, j) - mean(static_cast<long>(j)));
    ThreadPool pool(1);
    statistics = sums(pool);
  }

  SummedSamples samples() const { return {statistics, semantics.view()}; }
};

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
  EXPECT_TRUE(same_bits(a.weights, b.weights));
  EXPECT_EQ(a.bias, b.bias);
}

}  // namespace parsnets::test
