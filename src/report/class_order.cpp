#include "report/class_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/linalg.hpp"

namespace parsnets {

namespace {

Matrix<double> cosines(MatrixView<const float> vectors) {
  const std::size_t n = vectors.rows();
  std::vector<double> length(n);
  for (std::size_t i = 0; i < n; ++i) length[i] = std::sqrt(dot(vectors.row(i), vectors.row(i)));
  Matrix<double> out(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double lengths = length[i] * length[j];
      out(i, j) = out(j, i) = lengths > 0 ? dot(vectors.row(i), vectors.row(j)) / lengths : 0;
    }
  return out;
}

/// Moves one class at a time to where the sum of neighbours' cosines grows, until none does (or a few rounds are over).
void shorten(std::vector<std::size_t>& order, const Matrix<double>& likeness) {
  constexpr int kRounds = 20;
  const auto link = [&](std::ptrdiff_t a, std::ptrdiff_t b) {
    const auto n = static_cast<std::ptrdiff_t>(order.size());
    if (a < 0 || b < 0 || a >= n || b >= n) return 0.0;
    return likeness(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  };
  const auto n = static_cast<std::ptrdiff_t>(order.size());
  for (int round = 0; round < kRounds; ++round) {
    bool moved = false;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const std::size_t c = order[static_cast<std::size_t>(i)];
      const double freed = link(i - 1, i) + link(i, i + 1) - link(i - 1, i + 1);
      double best = 1e-9;
      std::ptrdiff_t to = i;
      for (std::ptrdiff_t j = 0; j <= n; ++j) {  // between j - 1 and j
        if (j == i || j == i + 1) continue;
        const double left = j > 0 ? likeness(c, order[static_cast<std::size_t>(j - 1)]) : 0,
                     right = j < n ? likeness(c, order[static_cast<std::size_t>(j)]) : 0;
        const double gain = left + right - link(j - 1, j) - freed;
        if (gain > best) {
          best = gain;
          to = j;
        }
      }
      if (to == i) continue;
      order.erase(order.begin() + i);
      order.insert(order.begin() + (to > i ? to - 1 : to), c);
      moved = true;
    }
    if (!moved) return;
  }
}

}  // namespace

std::vector<std::size_t> class_order(MatrixView<const float> vectors) {
  const std::size_t n = vectors.rows();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (n < 3) return order;
  const Matrix<double> likeness = cosines(vectors);
  Matrix<double> affinity(n, n);
  std::vector<double> degree(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) degree[i] += affinity(i, j) = std::pow((1 + likeness(i, j)) / 2, 4);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) affinity(i, j) /= std::sqrt(degree[i] * degree[j]);
  const EigenPairs pairs = largest_eigenpairs(affinity.view(), 2);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return pairs.vectors(1, a) / std::sqrt(degree[a]) < pairs.vectors(1, b) / std::sqrt(degree[b]);
  });
  shorten(order, likeness);
  return order;
}

}  // namespace parsnets
