#include "solvers/svr_block.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kSub = 16;  // samples between two matrix products
constexpr int kBisections = 40;

// Coordinate steps for `rows` consecutive samples whose gradient g (rows x w) already holds every earlier change.
PARSNETS_SIMD
void step_samples(std::size_t rows, std::size_t w, const float* q, std::size_t ldq, float* g, float* beta,
                  std::size_t ld_beta, float* delta, float* move, float c, float epsilon) {
  for (std::size_t i = 0; i < rows; ++i) {
    const float diagonal = q[i * ldq + i];
    if (!(diagonal > 0)) continue;
    const float scale = 1 / diagonal, threshold = epsilon * scale;
    float *b = beta + i * ld_beta, *d = delta + i * w;
    const float* gi = g + i * w;
    for (std::size_t j = 0; j < w; ++j) {
      const float v = box_shrink(b[j] - gi[j] * scale, threshold, c);
      move[j] = v - b[j];
      d[j] += move[j];
      b[j] = v;
    }
    for (std::size_t r = i + 1; r < rows; ++r) {
      const float t = q[i * ldq + r];
      float* gr = g + r * w;
      for (std::size_t j = 0; j < w; ++j) gr[j] += t * move[j];
    }
  }
}

PARSNETS_SIMD
void sum_of_shrunk(std::size_t n, std::size_t columns, std::size_t ld, const float* weight, float epsilon, float c,
                   const float* u, const float* shift, double* sum) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      sum[j] += box_shrink(u[i * ld + j] - shift[j] * weight[i], epsilon * weight[i], c);
}

}  // namespace

void solve_block(const BlockProblem& p, std::size_t first, std::size_t last, double* sum) {
  const std::size_t w = last - first, n = p.n;
  std::vector<float> delta(n * w, 0.0f), g(kSub * w), move(w);
  for (int sweep = 0; sweep < p.sweeps; ++sweep) {
    for (std::size_t s = 0; s < n; s += kSub) {
      const std::size_t rows = std::min(kSub, n - s);
      for (std::size_t i = 0; i < rows; ++i) std::copy_n(p.gradient + (s + i) * p.outputs + first, w, g.data() + i * w);
      if (sweep > 0 || s > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows), static_cast<int>(w),
                    static_cast<int>(sweep > 0 ? n : s), 1, p.kernel + s * n, static_cast<int>(n), delta.data(),
                    static_cast<int>(w), 1, g.data(), static_cast<int>(w));
      step_samples(rows, w, p.kernel + s * n + s, n, g.data(), p.beta + s * p.outputs + first, p.outputs,
                   delta.data() + s * w, move.data(), p.c, p.epsilon);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(delta.data() + i * w, w, p.delta + i * p.outputs + first);
    if (sum != nullptr)
      for (std::size_t j = 0; j < w; ++j) sum[first + j] += delta[i * w + j];
  }
}

void shrink_to_zero_sum(std::size_t n, std::size_t columns, std::size_t ld, const float* weight, float epsilon, float c,
                        const double* offset, float* u, double* left) {
  std::vector<float> low(columns, 0.0f), high(columns, 0.0f), shift(columns, 0.0f);
  std::vector<double> sum(columns);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const float reach = (std::fabs(u[i * ld + j]) + c) / weight[i] + epsilon;
      high[j] = std::max(high[j], reach * 1.0001f);
    }
  for (std::size_t j = 0; j < columns; ++j) low[j] = -high[j];
  for (int k = 0; k < kBisections; ++k) {
    std::copy(offset, offset + columns, sum.begin());
    sum_of_shrunk(n, columns, ld, weight, epsilon, c, u, shift.data(), sum.data());
    for (std::size_t j = 0; j < columns; ++j) {
      if (sum[j] == 0) continue;
      (sum[j] > 0 ? low[j] : high[j]) = shift[j];
      shift[j] = 0.5f * (low[j] + high[j]);
    }
  }
  std::copy(offset, offset + columns, sum.begin());
  std::vector<double> slack(columns, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      u[i * ld + j] = box_shrink(u[i * ld + j] - shift[j] * weight[i], epsilon * weight[i], c);
      sum[j] += u[i * ld + j];
    }
  // The remainder (a rounding, or a sample standing between 0 and its tube) goes to whoever has room; twice, because
  // the first distribution is rounded as well.
  for (int round = 0; round < 2; ++round) {
    std::fill(slack.begin(), slack.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < columns; ++j) slack[j] += sum[j] > 0 ? u[i * ld + j] + c : c - u[i * ld + j];
    std::vector<float> share(columns);
    for (std::size_t j = 0; j < columns; ++j)
      share[j] = sum[j] == 0 || slack[j] <= 0 ? 0.0f : static_cast<float>(std::min(1.0, std::fabs(sum[j]) / slack[j]));
    std::vector<double> after(offset, offset + columns);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        float& v = u[i * ld + j];
        v = sum[j] > 0 ? v - share[j] * (v + c) : v + share[j] * (c - v);
        v = std::clamp(v, -c, c);
        after[j] += v;
      }
    sum = after;
  }
  std::copy(sum.begin(), sum.end(), left);
}

void cancel_sum(const BlockProblem& p, std::size_t first, std::size_t last, double* sum) {
  const std::size_t w = last - first, n = p.n;
  std::vector<float> u(n * w), g(n * w), weight(n);
  std::vector<double> offset(w), left(w);
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(p.gradient + i * p.outputs + first, w, g.data() + i * w);
    weight[i] = 1 / std::max(p.kernel[i * n + i], 1e-20f);
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(n), static_cast<int>(w), static_cast<int>(n),
              1, p.kernel, static_cast<int>(n), p.delta + first, static_cast<int>(p.outputs), 1, g.data(),
              static_cast<int>(w));
  for (std::size_t j = 0; j < w; ++j) offset[j] = sum[first + j];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < w; ++j) {
      const float b = p.beta[i * p.outputs + first + j];
      u[i * w + j] = b - g[i * w + j] * weight[i];
      offset[j] -= b;
    }
  shrink_to_zero_sum(n, w, w, weight.data(), p.epsilon, p.c, offset.data(), u.data(), left.data());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < w; ++j) {
      const std::size_t at = i * p.outputs + first + j;
      p.delta[at] += u[i * w + j] - p.beta[at];
      p.beta[at] = u[i * w + j];
    }
  std::copy(left.begin(), left.end(), sum + first);
}

}  // namespace parsnets
