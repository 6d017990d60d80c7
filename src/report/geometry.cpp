#include "report/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "base/linalg.hpp"

namespace parsnets {

std::vector<double> singular_profile(MatrixView<const float> rows, std::size_t count, ThreadPool& pool) {
  std::vector<double> profile(count, 0.0);
  if (rows.empty()) return profile;
  // The eigenvalues of the smaller Gram matrix are the squared singular values.
  const bool by_row = rows.rows() < rows.cols();
  const std::size_t side = std::min(rows.rows(), rows.cols());
  const Matrix<double> exact = to_double(rows);
  Matrix<double> gram(side, side);
  multiply(pool, by_row ? Trans::no : Trans::yes, exact.view(), by_row ? Trans::yes : Trans::no, exact.view(),
           gram.view());
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < i; ++j) gram(i, j) = gram(j, i) = (gram(i, j) + gram(j, i)) / 2;
  const std::vector<double> values = largest_eigenpairs(gram.view()).values;
  double total = 0;
  for (const double v : values) total += std::sqrt(std::max(0.0, v));
  for (std::size_t i = 0; total > 0 && i < std::min(count, values.size()); ++i)
    profile[i] = std::sqrt(std::max(0.0, values[i])) / total;
  return profile;
}

std::vector<std::size_t> class_angles(MatrixView<const float> rows, std::span<const std::int32_t> labels,
                                      std::size_t bins) {
  std::map<std::int32_t, std::vector<float>> means;
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    auto& mean = means[labels[r]];
    mean.resize(rows.cols(), 0.0f);
    for (std::size_t j = 0; j < rows.cols(); ++j) mean[j] += rows(r, j);  // the length does not matter
  }
  std::vector<std::size_t> counts(bins, 0);
  for (auto a = means.begin(); a != means.end(); ++a)
    for (auto b = std::next(a); b != means.end(); ++b) {
      const double lengths = std::sqrt(dot(a->second, a->second) * dot(b->second, b->second));
      if (!(lengths > 0)) continue;
      const double angle = std::acos(std::clamp(dot(a->second, b->second) / lengths, -1.0, 1.0)) / std::numbers::pi;
      ++counts[std::min(bins - 1, static_cast<std::size_t>(angle * static_cast<double>(bins)))];
    }
  return counts;
}

Hubness hubness(MatrixView<const float> rows, std::size_t k, std::size_t bins, ThreadPool& pool) {
  const std::size_t n = rows.rows();
  Hubness result;
  result.histogram.assign(bins, 0);
  if (n < 2) return result;
  k = std::min(k, n - 1);
  Matrix<float> unit = Matrix<float>::copy_of(rows);
  for (std::size_t r = 0; r < n; ++r) {
    const double length = std::sqrt(dot(unit.row(r), unit.row(r)));
    if (length > 0)
      for (float& v : unit.row(r)) v = static_cast<float>(v / length);
  }
  Matrix<std::uint32_t> neighbours(n, k);
  constexpr std::size_t kBlock = 256;
  pool.parallel_for(n, kBlock, [&](std::size_t begin, std::size_t end, std::size_t) {
    Matrix<float> scores(end - begin, n);
    multiply(pool, Trans::no, {unit.row(begin).data(), end - begin, unit.cols()}, Trans::yes, unit.view(),
             scores.view());
    std::vector<std::uint32_t> order(n);
    for (std::size_t r = begin; r < end; ++r) {
      const auto row = scores.row(r - begin);
      row[r] = -2;  // itself
      std::iota(order.begin(), order.end(), 0u);
      std::partial_sort(
          order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
          [&](std::uint32_t a, std::uint32_t b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
      std::copy_n(order.begin(), k, neighbours.row(r).begin());
    }
  });
  std::vector<std::size_t> counts(n, 0);
  for (const auto i : neighbours.values()) ++counts[i];
  double mean = static_cast<double>(k), second = 0, third = 0;
  for (const auto c : counts) {
    const double d = static_cast<double>(c) - mean;
    second += d * d / static_cast<double>(n);
    third += d * d * d / static_cast<double>(n);
    ++result.histogram[std::min(c, bins - 1)];
  }
  result.skewness = second > 0 ? third / std::pow(second, 1.5) : 0;
  return result;
}

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
