#include "solvers/svr_active_set.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/linalg.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kSampleRows = 256;  // that a thread takes at a time
constexpr float kRounding = 1e-5f;        // of the largest target: residuals outside the tube by less are not
constexpr double kRidge = 2e-3;           // of the mean of the diagonal: samples that are alike do no harm
constexpr std::size_t kAtOnce = 8;        // outputs in work, at most, so that memory does not depend on threads
constexpr std::size_t kLeastFree = 3;     // at most one in so many samples is not free

}  // namespace

SvrActiveSet::SvrActiveSet(GatedKernel& kernel, ThreadPool& pool, const std::function<void()>& tick) : pool_(pool) {
  const std::size_t n = kernel.samples();
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += kernel.diagonal(i);
  inverse_ = Cholesky<float>(pool, kernel.whole(), kRidge * trace / static_cast<double>(n), tick).inverse(pool, tick);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (const float v : inverse_.row(i)) sum += v;
    row_sums_.push_back(static_cast<float>(sum));
    row_sum_ += sum;
  }
}

double SvrActiveSet::bytes_needed(std::size_t n, std::size_t m) {
  const auto samples = static_cast<double>(n), most = samples / kLeastFree;
  return 4 * samples * samples + 9 * samples * static_cast<double>(m) +
         4 * most * (most + 100) * static_cast<double>(kAtOnce);
}

double SvrActiveSet::flops(MatrixView<const float> beta, double c, int rounds) {
  const std::size_t n = beta.rows(), m = beta.cols();
  const auto bound = static_cast<float>(c);
  std::vector<std::uint32_t> fixed(m, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) fixed[j] += beta(i, j) == 0 || std::fabs(beta(i, j)) >= bound;
  double sum = 6 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(m);
  for (const double k : fixed) {
    if (k * kLeastFree > static_cast<double>(n)) return std::numeric_limits<double>::infinity();
    sum += k * k * k / 3;
  }
  return rounds * sum;
}

void SvrActiveSet::begin(MatrixView<const float> targets, MatrixView<const float> beta, MatrixView<const float> f,
                         std::vector<float> bias, double c, double epsilon, bool global_bias) {
  c_ = static_cast<float>(c);
  epsilon_ = static_cast<float>(epsilon);
  global_bias_ = global_bias;
  bias_ = std::move(bias);
  place_ = Matrix<std::int8_t>(beta.rows(), beta.cols());
  float largest = 0;
  for (const float a : targets.values()) largest = std::max(largest, std::fabs(a));
  rounding_ = kRounding * largest;
  pool_.parallel_for(beta.rows(), kSampleRows, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < beta.cols(); ++j) {
        const float b = beta(i, j), g = f(i, j) + bias_[j] - targets(i, j);
        const int sign = b > 0 ? 1 : b < 0 ? -1 : g < -epsilon_ - rounding_ ? 1 : g > epsilon_ + rounding_ ? -1 : 0;
        const bool stays = std::fabs(b) >= c_ && static_cast<float>(sign) * g + epsilon_ <= rounding_;
        place_(i, j) = static_cast<std::int8_t>(stays ? 2 * sign : sign);
      }
  });
}

// q_A and the bias of output j; `step` is G·q without them.
void SvrActiveSet::solve(std::size_t j, MatrixView<const float> beta, MatrixView<float> q,
                         MatrixView<const float> step) {
  const std::size_t n = beta.rows();
  std::vector<std::size_t> fixed;
  for (std::size_t i = 0; i < n; ++i)
    if (place_(i, j) % 2 == 0) fixed.push_back(i);
  const std::size_t count = fixed.size();
  Matrix<float> block(count, count), right(count, 2);
  for (std::size_t a = 0; a < count; ++a) {
    const std::size_t i = fixed[a];
    const float* row = inverse_.row(i).data();
    for (std::size_t b = 0; b <= a; ++b) block(a, b) = row[fixed[b]];
    right(a, 0) = static_cast<float>(place_(i, j) / 2) * c_ - beta(i, j) - step(i, j);
    right(a, 1) = row_sums_[i];
  }
  if (count > 0) {
    ThreadPool caller(1);
    const Cholesky<float> factor(caller, std::move(block), 0);
    factor.solve(caller, right.view());
  }
  float bias = 0;
  if (global_bias_) {
    double rest = 0, sum = row_sum_;
    for (std::size_t i = 0; i < n; ++i) rest += static_cast<double>(step(i, j)) + beta(i, j);
    for (std::size_t a = 0; a < count; ++a) {
      rest += static_cast<double>(row_sums_[fixed[a]]) * right(a, 0);
      sum -= static_cast<double>(row_sums_[fixed[a]]) * right(a, 1);
    }
    bias = sum > 0 ? static_cast<float>(rest / sum) : 0;
  }
  bias_[j] = bias;
  for (std::size_t i = 0, a = 0; i < n; ++i) {
    if (place_(i, j) % 2 != 0) {
      q(i, j) -= bias;
    } else {
      q(i, j) = right(a, 0) + bias * (right(a, 1) - 1);
      ++a;
    }
  }
}

std::vector<char> SvrActiveSet::round(MatrixView<const float> targets, MatrixView<float> beta,
                                      MatrixView<const float> f) {
  const std::size_t n = beta.rows(), m = beta.cols();
  Matrix<float> q(n, m), step(n, m);
  const auto rows = [&](auto&& visit) {
    pool_.parallel_for(n, kSampleRows, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i)
        for (std::size_t j = 0; j < m; ++j) visit(i, j);
    });
  };
  rows([&](std::size_t i, std::size_t j) {
    const int place = place_(i, j);
    q(i, j) = place % 2 == 0 ? 0 : targets(i, j) - epsilon_ * static_cast<float>(place) - f(i, j);
  });
  multiply(pool_, Trans::no, inverse_.view(), Trans::no, q.view(), step.view());
  pool_.parallel_for(m, (m + kAtOnce - 1) / kAtOnce, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t j = first; j < last; ++j) solve(j, beta, q.view(), step.view());
  });
  multiply(pool_, Trans::no, inverse_.view(), Trans::no, q.view(), step.view());
  std::atomic<bool> changed = false;
  rows([&](std::size_t i, std::size_t j) {
    const int place = place_(i, j), sign = (place > 0) - (place < 0);
    const auto s = static_cast<float>(sign);
    const float g = f(i, j) + q(i, j) + bias_[j] - targets(i, j), x = beta(i, j) + step(i, j);
    int next = place;
    float value = s * c_;
    if (place == 0) {
      if (std::fabs(g) > epsilon_ + rounding_) next = g < 0 ? 1 : -1;
    } else if (place != sign) {
      if (s * g + epsilon_ > rounding_) next = sign;
    } else if (s * x < 0) {
      next = 0;
      value = 0;
    } else if (s * x > c_) {
      next = 2 * sign;
    } else {
      value = x;
    }
    beta(i, j) = value;
    place_(i, j) = static_cast<std::int8_t>(next);
    if (next != place) changed = true;
  });
  settled_ = !changed;
  std::vector<char> feasible(m, 1);
  if (!global_bias_) return feasible;
  // What places moved out of the sums is shared by the free β, as far as there is room.
  std::vector<double> sum(m, 0.0), free(m, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      sum[j] += beta(i, j);
      free[j] += place_(i, j) % 2 != 0;
    }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      if (place_(i, j) % 2 == 0) continue;
      beta(i, j) -= static_cast<float>(sum[j] / free[j]);
      if (std::fabs(beta(i, j)) > c_) feasible[j] = 0;
    }
  for (std::size_t j = 0; j < m; ++j)
    if (free[j] == 0 && sum[j] != 0) feasible[j] = 0;
  return feasible;
}

}  // namespace parsnets
