#include "base/householder.hpp"

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

PARSNETS_SIMD double dot_of(const double* a, const double* b, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const double lane : lanes) sum += lane;
  return sum;
}

PARSNETS_SIMD void subtract_scaled(double* from, double factor, const double* what, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) from[i] -= factor * what[i];
}

}  // namespace

double dot(std::span<const double> a, std::span<const double> b) { return dot_of(a.data(), b.data(), a.size()); }

Reflection make_reflection(std::span<double> x) {
  const double first = x[0], rest = dot(x.subspan(1), x.subspan(1));
  x[0] = 1;
  if (rest == 0) return {0, first};
  const double value = -std::copysign(std::sqrt(first * first + rest), first);
  for (double& v : x.subspan(1)) v /= first - value;
  return {(value - first) / value, value};
}

void apply_reflections(ThreadPool* pool, Order order, std::size_t n, std::span<const double> factors, Factor<double> v,
                       std::size_t rows, double* y, std::size_t stride) {
  const std::size_t k = factors.size();
  if (k == 0 || rows == 0) return;
  const Factor<double> turned{v.data, v.stride, Trans::yes};
  Matrix<double> products(k, k), t(k, k, 0.0);
  multiply_blocks<double>(nullptr, k, k, n, 1, v, turned, 0, products.data(), k);
  for (std::size_t i = 0; i < k; ++i) {  // column i of the upper triangle T
    t(i, i) = factors[i];
    for (std::size_t r = 0; r < i; ++r) {
      double sum = 0;
      for (std::size_t c = r; c < i; ++c) sum += t(r, c) * products(c, i);
      t(r, i) = -factors[i] * sum;
    }
  }
  Matrix<double> moved(rows, k), mixed(rows, k);
  multiply_blocks<double>(pool, rows, k, n, 1, {y, stride, Trans::no}, turned, 0, moved.data(), k);
  multiply_blocks<double>(pool, rows, k, k, 1, {moved.data(), k, Trans::no},
                          {t.data(), k, order == Order::first ? Trans::no : Trans::yes}, 0, mixed.data(), k);
  multiply_blocks<double>(pool, rows, n, k, -1, {mixed.data(), k, Trans::no}, v, 1, y, stride);
}

void orthonormalise_rows(MatrixView<double> a, ThreadPool* pool) {
  const std::size_t rows = a.rows(), n = a.cols();
  if (rows > n) throw Error(ErrorCode::failure, "internal error: shapes do not agree in orthonormalise_rows");
  if (a.empty()) return;
  std::vector<double> factors(rows);
  std::vector<bool> flip(rows);  // where R's diagonal is negative
  for (std::size_t begin = 0; begin < rows; begin += kReflectionBlock) {
    const std::size_t end = std::min(rows, begin + kReflectionBlock);
    for (std::size_t j = begin; j < end; ++j) {
      const auto v = a.row(j).subspan(j);
      const Reflection made = make_reflection(v);
      factors[j] = made.factor;
      flip[j] = made.value < 0;
      std::fill_n(a.row(j).data() + begin, j - begin, 0.0);
      for (std::size_t i = j + 1; i < end; ++i) {
        const auto row = a.row(i).subspan(j);
        const double part = made.factor * dot(row, v);
        subtract_scaled(row.data(), part, v.data(), v.size());
      }
    }
    apply_reflections(pool, Order::first, n - begin, std::span(factors).subspan(begin, end - begin),
                      {a.row(begin).data() + begin, n, Trans::no}, rows - end, a.data() + end * n + begin, n);
  }
  Matrix<double> q(rows, n, 0.0);
  for (std::size_t i = 0; i < rows; ++i) q(i, i) = flip[i] ? -1 : 1;
  for (std::size_t begin = (rows - 1) / kReflectionBlock * kReflectionBlock;; begin -= kReflectionBlock) {
    apply_reflections(pool, Order::last, n - begin,
                      std::span(factors).subspan(begin, std::min(rows - begin, kReflectionBlock)),
                      {a.row(begin).data() + begin, n, Trans::no}, rows - begin, q.row(begin).data() + begin, n);
    if (begin == 0) break;
  }
  std::copy_n(q.data(), q.size(), a.data());
}

}  // namespace parsnets
