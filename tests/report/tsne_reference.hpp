#pragma once
// t-SNE by the plain formulas over all pairs: what the tests of the fast one compare with.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/rng.hpp"
#include "parsnets/matrix.hpp"
#include "report/tsne.hpp"

namespace parsnets::test {

template <class T>
Matrix<T> normal_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed, double deviation = 1) {
  Rng rng(seed);
  Matrix<T> out(rows, cols);
  for (T& v : out.values()) v = static_cast<T>(deviation * rng.normal());
  return out;
}

inline double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

inline Matrix<double> dense(const Affinities& p) {
  Matrix<double> out(p.rows(), p.rows(), 0.0);
  for (std::size_t i = 0; i < p.rows(); ++i)
    for (std::size_t e = p.start[i]; e < p.start[i + 1]; ++e) out(i, p.column[e]) = p.value[e];
  return out;
}

inline double plain_z(const Matrix<double>& y) {
  double z = 0;
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t j = 0; j < y.rows(); ++j)
      if (i != j) z += 1 / (1 + squared_distance(y.row(i), y.row(j)));
  return z;
}

inline double plain_objective(const Matrix<double>& p, const Matrix<double>& y) {
  const double z = plain_z(y);
  double sum = 0;
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t j = 0; j < y.rows(); ++j) {
      if (i == j || p(i, j) == 0) continue;
      const double q = 1 / (1 + squared_distance(y.row(i), y.row(j))) / z;
      sum += p(i, j) * std::log(p(i, j) / q);
    }
  return sum;
}

inline Matrix<double> plain_gradient(const Matrix<double>& p, const Matrix<double>& y, double exaggeration) {
  const double z = plain_z(y);
  Matrix<double> gradient(y.rows(), 2, 0.0);
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t j = 0; j < y.rows(); ++j) {
      const double w = 1 / (1 + squared_distance(y.row(i), y.row(j)));
      for (std::size_t c = 0; c < 2; ++c)
        gradient(i, c) += 4 * (exaggeration * p(i, j) - w / z) * w * (y(i, c) - y(j, c));
    }
  return gradient;
}

inline Matrix<double> plain_repulsion(const Matrix<double>& y) {
  Matrix<double> force(y.rows(), 2, 0.0);
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t j = 0; j < y.rows(); ++j) {
      const double w = 1 / (1 + squared_distance(y.row(i), y.row(j)));
      for (std::size_t c = 0; c < 2; ++c) force(i, c) += w * w * (y(i, c) - y(j, c));
    }
  return force;
}

inline double relative_error(const Matrix<double>& found, const Matrix<double>& wanted) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(found.data()[i] - wanted.data()[i], 2);
    size += std::pow(wanted.data()[i], 2);
  }
  return std::sqrt(error / size);
}

}  // namespace parsnets::test
