// The splitting steps of SvrEngine (see svr_engine.hpp).

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"
#include "solvers/svr_engine.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kSplitGrain = 256;
constexpr int kExpected = 18;  // products with N x N matrices that a splitting run usually takes
constexpr int kFirstCheck = 6;
constexpr int kMostBetweenChecks = 6;
constexpr float kRelaxation = 1.6f;
constexpr double kGoodRatio = 0.4;  // of primal to dual residual where the splitting was measured to be fastest

}  // namespace

// Compares the sweeps still needed at the recent rate with a factorisation and a usual splitting run.
bool SvrEngine::split_pays() const {
  const SvrCounters& k = s_.counters;
  if (k.split_allowed == 0 || k.recent[3] <= 0 || k.recent[0] <= options_.tolerance) return false;
  if (options_.max_passes - k.pass < kExpected) return false;  // its first points are worse than the sweeps'
  const double rate = std::pow(k.recent[0] / k.recent[3], 1.0 / 3);
  const double left = rate < 1 ? std::log(options_.tolerance / k.recent[0]) / std::log(rate) : 1e9;
  const double n = static_cast<double>(order_.size()), m = static_cast<double>(active());
  // Rates fall off towards the end: count half as much again.
  return 1.5 * left * 2 * n * n * m > n * n * n / 3 + kExpected * 2 * n * n * m;
}

// Without a factor there is no splitting any more.
void SvrEngine::make_factor() {
  for (int attempt = 0; attempt < 8; ++attempt) {
    try {
      factor_ = std::make_unique<ShiftedFactor>(kernel_, s_.counters.rho, pool_, progress_);
      s_.counters.factors += 1;
      return;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::failure) throw;
      s_.counters.rho *= 4;
    }
  }
  factor_.reset();
  s_.counters.split_allowed = 0;
}

// ρ balances the two residuals: the size of the errors over the size of β, both known from the sweeps so far.
void SvrEngine::enter_split() {
  SvrCounters& k = s_.counters;
  const std::size_t n = order_.size(), m = active();
  double error = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      const double r = a_.data()[i * m + j] - s_.values.data()[i * m + j] - s_.bias[s_.output[j]];
      const double b = s_.beta.data()[i * m + j];
      error += r * r;
      size += b * b;
    }
  if (!(size > 0) || !(error > 0)) {
    k.split_allowed = 0;
    return;
  }
  k.rho = static_cast<float>(std::sqrt(error / size));
  make_factor();
  if (factor_ == nullptr) return;
  float* u = s_.previous_beta.data();
  pool_.parallel_for(n, kSplitGrain, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < m; ++j)
        u[i * m + j] = (a_.data()[i * m + j] - s_.values.data()[i * m + j] - s_.bias[s_.output[j]]) / k.rho;
  });
  k.splitting = 1;
  k.iteration = 0;
  k.next_check = kFirstCheck;
  k.last_check = 0;
  k.last_gap = 0;
  k.stalls = 0;
}

void SvrEngine::split_iteration() {
  SvrCounters& k = s_.counters;
  report_pass();
  const std::size_t n = order_.size(), m = active(), chunks = ThreadPool::chunk_count(n, kSplitGrain);
  const float rho = k.rho;
  k.fresh = 0;
  float *x = s_.previous_values.data(), *w = s_.beta.data(), *u = s_.previous_beta.data();
  const float* a = a_.data();
  pool_.parallel_for(n, kSplitGrain, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first * m; i < last * m; ++i) x[i] = a[i] + rho * (w[i] - u[i]);
  });
  factor_->solve(view(s_.previous_values));
  const double count = static_cast<double>(n);
  kernel_.count(2 * count * count * static_cast<double>(m),
                4 * count * (count + 4 * static_cast<double>(m * kernel_.blocks())));
  std::vector<float> shift(m, 0.0f);
  if (options_.global_bias) {
    const std::vector<double> sums = column_sums(s_.previous_values);
    for (std::size_t j = 0; j < m; ++j) shift[j] = static_cast<float>(sums[j] / factor_->ones_sum());
  }
  const float c = static_cast<float>(options_.c), threshold = static_cast<float>(options_.epsilon) / rho;
  std::vector<double> apart(chunks, 0.0), moved(chunks, 0.0);
  pool_.parallel_for(n, kSplitGrain, [&](std::size_t first, std::size_t last, std::size_t chunk) {
    double p = 0, d = 0;
    for (std::size_t i = first; i < last; ++i) {
      const float one = factor_->ones()[i];
      float ps = 0, ds = 0;
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t at = i * m + j;
        const float xi = x[at] - one * shift[j];
        const float q = kRelaxation * xi + (1 - kRelaxation) * w[at] + u[at];
        const float next = box_shrink(q, threshold, c);
        ps += (xi - next) * (xi - next);
        ds += (w[at] - next) * (w[at] - next);
        u[at] = q - next;
        w[at] = next;
      }
      p += ps;
      d += ds;
    }
    apart[chunk] = p;
    moved[chunk] = d;
  });
  double p = 0, d = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    p += apart[chunk];
    d += moved[chunk];
  }
  k.residual_ratio = d > 0 ? std::sqrt(p / d) : 0;
  k.iteration += 1;
  if (k.iteration >= k.next_check || k.pass >= options_.max_passes) split_check();
}

// w ← box_shrink(w + u − δ) with δ per output such that Σw = 0; u takes up the difference, which b absorbs.
void SvrEngine::zero_sum_of_split() {
  const std::size_t n = order_.size(), m = active();
  float *q = s_.previous_values.data(), *w = s_.beta.data(), *u = s_.previous_beta.data();
  const std::vector<float> weight(n, 1 / s_.counters.rho);
  pool_.parallel_for(m, 16, [&](std::size_t first, std::size_t last, std::size_t) {
    std::vector<double> rest(last - first, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = first; j < last; ++j) q[i * m + j] = w[i * m + j] + u[i * m + j];
    shrink_to_zero_sum(n, last - first, m, weight.data(), static_cast<float>(options_.epsilon),
                       static_cast<float>(options_.c), q + first, rest.data());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = first; j < last; ++j) {
        const std::size_t at = i * m + j;
        u[at] += w[at] - q[at];
        w[at] = q[at];
      }
  });
}

void SvrEngine::split_check() {
  SvrCounters& k = s_.counters;
  if (options_.global_bias) zero_sum_of_split();
  refresh();
  evaluate_and_keep();
  log_pass();
  const double now = gap(), before = k.last_gap;
  if (now <= options_.tolerance) return;
  const int since = k.iteration - k.last_check;
  const double rate = before > 0 ? std::pow(now / before, 1.0 / since) : 0.6;
  k.stalls = rate > 0.97 ? k.stalls + 1 : 0;
  k.last_gap = now;
  k.last_check = k.iteration;
  if (k.stalls >= 2) {
    leave_split();
    k.split_allowed = 0;
    return;
  }
  const double left = rate < 1 ? std::log(options_.tolerance / now) / std::log(rate) : kMostBetweenChecks;
  k.next_check =
      k.iteration + static_cast<int>(std::clamp(std::ceil(left), 1.0, static_cast<double>(kMostBetweenChecks)));
  drop_done();
  if ((k.residual_ratio > 6 * kGoodRatio || k.residual_ratio < kGoodRatio / 5) && k.residual_ratio > 0 &&
      k.factors < 4 && left > kMostBetweenChecks) {
    const float old = k.rho;
    k.rho *= static_cast<float>(std::clamp(k.residual_ratio / kGoodRatio, 0.2, 5.0));
    make_factor();
    if (factor_ == nullptr) return leave_split();
    const float scale = old / k.rho;
    for (float& v : view(s_.previous_beta).values()) v *= scale;
  }
}

// Back to sweeps from the last checked point.
void SvrEngine::leave_split() {
  if (options_.global_bias) zero_sum_of_split();
  refresh();
  evaluate_and_keep();
  restart_from_here();
  s_.counters.splitting = 0;
  factor_.reset();
}

double ShiftedFactor::bytes_needed(std::size_t n, std::size_t block) {
  const double rows = static_cast<double>(n), columns = static_cast<double>(block);
  return 4 * (rows * (rows + columns) / 2 + rows * 2 * columns + rows);
}

ShiftedFactor::ShiftedFactor(GatedKernel& kernel, float rho, ThreadPool& pool, ProgressObserver* progress)
    : n_(kernel.samples()), block_(kernel.block()), blocks_(kernel.blocks()), pool_(pool) {
  std::size_t total = 0;
  for (std::size_t b = 0; b < blocks_; ++b) {
    offset_.push_back(total);
    total += (n_ - begin(b)) * size(b);
  }
  panels_ = Matrix<float>(1, total);
  inverse_ = Matrix<float>(blocks_, block_ * block_);
  pool_.parallel_for(blocks_, 1, [&](std::size_t b, std::size_t, std::size_t) {
    const std::size_t n = size(b);
    std::memcpy(panel(b), kernel.panel(b) + begin(b) * n, (n_ - begin(b)) * n * sizeof(float));
    for (std::size_t i = 0; i < n; ++i) panel(b)[i * n + i] += rho;
  });
  for (std::size_t k = 0; k < blocks_; ++k) {
    report(progress, {"factor", k, blocks_, "blocks"});
    eliminate(k);
  }
  const double rows = static_cast<double>(n_);
  kernel.count(rows * rows * rows / 3, 4 * rows * rows * static_cast<double>(blocks_) / 3);
  ones_.assign(n_, 1.0f);
  solve({ones_.data(), n_, 1});
  for (float v : ones_) ones_sum_ += v;
}

// Column k is complete but for its own elimination: A_kk = LLᵀ, L_rk = A_rk·L_kk⁻ᵀ, then A_rc −= L_rk·L_ckᵀ for c > k.
void ShiftedFactor::eliminate(std::size_t k) {
  const std::size_t n = size(k), rest = n_ - begin(k) - n;
  float *diagonal = panel(k), *below = panel(k) + n * n, *inverse = inverse_.data() + k * block_ * block_;
  if (factorise_block(n, diagonal, n, inverse, n) != 0)
    throw Error(ErrorCode::failure, "the kernel is not positive definite in float");
  pool_.parallel_for(rest, kSplitGrain, [&](std::size_t first, std::size_t last, std::size_t) {
    Matrix<float> rows(last - first, n);
    std::copy_n(below + first * n, rows.size(), rows.data());
    gemm(Trans::no, Trans::yes, last - first, n, n, 1, rows.data(), n, inverse, n, 0, below + first * n, n);
  });
  const std::size_t columns = blocks_ - k - 1;  // tiles (r, c), k < c <= r
  pool_.parallel_for(columns * (columns + 1) / 2, 1, [&](std::size_t index, std::size_t, std::size_t) {
    std::size_t r = 0, c = index;
    while (c > r) c -= ++r;
    r += k + 1;
    c += k + 1;
    const float *left = below + (begin(r) - begin(k) - n) * n, *right = below + (begin(c) - begin(k) - n) * n;
    gemm(Trans::no, Trans::yes, size(r), size(c), n, -1, left, n, right, n, 1,
         panel(c) + (begin(r) - begin(c)) * size(c), size(c));
  });
}

void ShiftedFactor::solve(MatrixView<float> b) const {
  const std::size_t m = b.cols(), grain = column_grain(m);
  Matrix<float> part(block_, m);
  const auto row = [&](std::size_t i) { return b.data() + i * m; };
  for (std::size_t k = 0; k < blocks_; ++k) {  // L·Y = B
    const std::size_t n = size(k), next = begin(k) + n;
    const float* inverse = inverse_.data() + k * block_ * block_;
    pool_.parallel_for(m, grain, [&](std::size_t first, std::size_t last, std::size_t) {
      gemm(Trans::no, Trans::no, n, last - first, n, 1, inverse, n, row(begin(k)) + first, m, 0, part.data() + first,
           m);
    });
    std::copy_n(part.data(), n * m, row(begin(k)));
    pool_.parallel_for(n_ - next, 2 * kSplitGrain, [&](std::size_t first, std::size_t last, std::size_t) {
      gemm(Trans::no, Trans::no, last - first, m, n, -1, panel(k) + (n + first) * n, n, part.data(), m, 1,
           row(next + first), m);
    });
  }
  for (std::size_t k = blocks_; k-- > 0;) {  // Lᵀ·X = Y
    const std::size_t n = size(k), next = begin(k) + n;
    const float* inverse = inverse_.data() + k * block_ * block_;
    pool_.parallel_for(m, 2 * grain, [&](std::size_t first, std::size_t last, std::size_t) {
      const std::size_t w = last - first;
      if (next < n_)
        gemm(Trans::yes, Trans::no, n, w, n_ - next, -1, panel(k) + n * n, n, row(next) + first, m, 1,
             row(begin(k)) + first, m);
      gemm(Trans::yes, Trans::no, n, w, n, 1, inverse, n, row(begin(k)) + first, m, 0, part.data() + first, m);
      for (std::size_t i = 0; i < n; ++i) std::copy_n(part.data() + i * m + first, w, row(begin(k) + i) + first);
    });
  }
}

}  // namespace parsnets
