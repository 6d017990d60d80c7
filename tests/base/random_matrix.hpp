#pragma once
// Matrices for tests of linear algebra.

#include <cstdint>
#include <cstring>

#include "base/rng.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets::test {

template <class T>
Matrix<T> random_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Rng rng(seed);
  Matrix<T> out(rows, cols);
  for (T& v : out.values()) v = static_cast<T>(rng.normal());
  return out;
}

template <class T>
bool same_bits(const Matrix<T>& a, const Matrix<T>& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace parsnets::test
