#include "solvers/svr_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <string>

#include "parsnets/error.hpp"
#include "solvers/svr_block.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kRowGrain = 256;
constexpr int kBisections = 32;  // of the bits of a float

// Floats in ascending order as integers, and back.
std::uint32_t key_of(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
float float_of(std::uint32_t key) { return std::bit_cast<float>((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key); }

}  // namespace

std::vector<float> smallest_float(std::size_t columns,
                                  const std::function<void(std::span<const float>, std::span<std::uint8_t>)>& holds) {
  const float most = std::numeric_limits<float>::max();
  std::vector<std::uint32_t> low(columns, key_of(-most)), high(columns, key_of(most));
  std::vector<float> points(columns);
  std::vector<std::uint8_t> result(columns);
  const auto middle = [&](std::size_t j) { return low[j] + (high[j] - low[j]) / 2; };
  for (int k = 0; k < kBisections; ++k) {
    for (std::size_t j = 0; j < columns; ++j) points[j] = float_of(middle(j));
    holds(points, result);
    for (std::size_t j = 0; j < columns; ++j) {
      if (low[j] == high[j]) continue;
      if (result[j] != 0)
        high[j] = middle(j);
      else
        low[j] = middle(j) + 1;
    }
  }
  for (std::size_t j = 0; j < columns; ++j) points[j] = float_of(high[j]);
  return points;
}

std::vector<double> group_sums(Processes& processes, ThreadPool& pool, std::size_t rows, std::size_t columns,
                               const std::function<void(std::size_t row, double* sums)>& term) {
  std::vector<double> part(ThreadPool::chunk_count(rows, kRowGrain) * columns, 0.0), total(columns, 0.0);
  pool.parallel_for(rows, kRowGrain, [&](std::size_t first, std::size_t last, std::size_t chunk) {
    for (std::size_t i = first; i < last; ++i) term(i, part.data() + chunk * columns);
  });
  for (std::size_t at = 0; at < part.size(); ++at) total[at % columns] += part[at];
  processes.sum(total);
  return total;
}

void shrink_group_to_zero_sum(Processes& processes, ThreadPool& pool, std::span<const float> weight, float epsilon,
                              float c, MatrixView<float> beta) {
  const std::size_t n = beta.rows(), m = beta.cols();
  const auto row = [&](std::size_t i) { return beta.data() + i * m; };
  const auto shift = smallest_float(m, [&](std::span<const float> points, std::span<std::uint8_t> result) {
    const auto sums = group_sums(processes, pool, n, m, [&](std::size_t i, double* sum) {
      for (std::size_t j = 0; j < m; ++j)
        sum[j] += box_shrink(row(i)[j] - points[j] * weight[i], epsilon * weight[i], c);
    });
    for (std::size_t j = 0; j < m; ++j) result[j] = sums[j] <= 0;
  });
  auto sum = group_sums(processes, pool, n, m, [&](std::size_t i, double* s) {
    for (std::size_t j = 0; j < m; ++j) {
      float& v = row(i)[j];
      v = box_shrink(v - shift[j] * weight[i], epsilon * weight[i], c);
      s[j] += v;
    }
  });
  for (int round = 0; round < 2; ++round) {
    const auto slack = group_sums(processes, pool, n, m, [&](std::size_t i, double* s) {
      for (std::size_t j = 0; j < m; ++j) s[j] += sum[j] > 0 ? row(i)[j] + c : c - row(i)[j];
    });
    std::vector<float> share(m);
    for (std::size_t j = 0; j < m; ++j)
      share[j] = sum[j] == 0 || slack[j] <= 0 ? 0.0f : static_cast<float>(std::min(1.0, std::fabs(sum[j]) / slack[j]));
    const auto before = sum;
    sum = group_sums(processes, pool, n, m, [&](std::size_t i, double* s) {
      for (std::size_t j = 0; j < m; ++j) {
        float& v = row(i)[j];
        v = std::clamp(before[j] > 0 ? v - share[j] * (v + c) : v + share[j] * (c - v), -c, c);
        s[j] += v;
      }
    });
  }
}

std::vector<float> group_tube_bias(Processes& processes, ThreadPool& pool, MatrixView<const float> r, float epsilon,
                                   std::uint64_t total) {
  // The two central ones of the 2N points r ± ε: the smallest floats with N, and with N + 1, points not above them.
  const std::size_t n = r.rows(), m = r.cols(), chunks = ThreadPool::chunk_count(n, kRowGrain);
  std::vector<std::uint32_t> part(chunks * 2 * m);
  std::vector<std::uint64_t> count(2 * m);
  const auto central = smallest_float(2 * m, [&](std::span<const float> points, std::span<std::uint8_t> result) {
    std::fill(part.begin(), part.end(), 0u);
    pool.parallel_for(n, kRowGrain, [&](std::size_t first, std::size_t last, std::size_t chunk) {
      std::uint32_t *lower = part.data() + chunk * 2 * m, *upper = lower + m;
      const float *low = points.data(), *high = low + m;
      for (std::size_t i = first; i < last; ++i) {
        const float* x = r.data() + i * m;
        for (std::size_t j = 0; j < m; ++j) {
          const float down = x[j] - epsilon, up = x[j] + epsilon;
          lower[j] += static_cast<std::uint32_t>(down <= low[j]) + static_cast<std::uint32_t>(up <= low[j]);
          upper[j] += static_cast<std::uint32_t>(down <= high[j]) + static_cast<std::uint32_t>(up <= high[j]);
        }
      }
    });
    std::fill(count.begin(), count.end(), 0u);
    for (std::size_t at = 0; at < part.size(); ++at) count[at % (2 * m)] += part[at];
    processes.sum(count);
    for (std::size_t j = 0; j < 2 * m; ++j) result[j] = count[j] >= total + (j < m ? 0 : 1);
  });
  std::vector<float> bias(m);
  for (std::size_t j = 0; j < m; ++j) bias[j] = central[j] + 0.5f * (central[m + j] - central[j]);
  return bias;
}

}  // namespace parsnets
