#include "solvers/svr_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "base/row_products.hpp"
#include "parsnets/error.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kRowGrain = 256;
constexpr int kSweeps = 4;              // of coordinate descent in one visit of a block
constexpr int kSweepsAlone = 12;        // when there is only one block
constexpr int kRefresh = 32;            // passes after which accumulated roundings are removed
constexpr double kNoise = 2e-7;         // relative rounding of a dual value
constexpr double kFirstMomentum = 1.7;  // the sequence's second value is 1.62: an output there was not extrapolated
constexpr double kDamping = 0.9;        // of the extrapolation: the whole of it overshoots and costs more passes
constexpr int kRounds = 8;              // of the active set, at most
constexpr int kExpectedRounds = 4;      // before it is tried
constexpr double kConstantPart = 0.8;   // of the kernel's mean, taken out of the blocks' kernels

double relative(double primal, double dual) { return (primal - dual) / std::max(primal, 1e-300); }

}  // namespace

SvrEngine::SvrEngine(GatedKernel& kernel, MatrixView<const float> targets, const std::vector<std::size_t>& order,
                     const SvrOptions& options, bool active_sets, ThreadPool& pool, ProgressObserver* progress)
    : kernel_(kernel),
      targets_(targets),
      order_(order),
      options_(options),
      pool_(pool),
      progress_(progress),
      active_sets_(active_sets),
      a_(targets.rows(), targets.cols()),
      block_kernel_(kernel.block(), kernel.block()),
      gradient_(kernel.block(), targets.cols()),
      delta_(kernel.block(), targets.cols()) {
  const std::size_t n = targets.rows(), m = targets.cols();
  if (options.global_bias) {
    double smallest = kernel.diagonal(0);
    for (std::size_t i = 1; i < n; ++i) smallest = std::min(smallest, kernel.diagonal(i));
    s_.counters.tau = static_cast<float>(std::min(kConstantPart * kernel.mean(), 0.5 * smallest));
  }
  s_.primal.assign(m, 0);
  s_.dual.assign(m, 0);
  s_.bias.assign(m, 0);
  s_.multiplier.assign(m, 0);
  s_.ascending.assign(m, 0);
  s_.momentum.assign(m, 1);
  s_.beta = Matrix<float>(n, m);
  s_.previous_beta = Matrix<float>(n, m);
  s_.values = Matrix<float>(n, m);
  s_.previous_values = Matrix<float>(n, m);
  s_.result = Matrix<float>(n, m, 0.0f);
}

double SvrEngine::bytes_needed(std::size_t n, std::size_t m, std::size_t block) {
  const double samples = static_cast<double>(n), outputs = static_cast<double>(m), b = static_cast<double>(block);
  constexpr double matrices = 8 + 1.25;  // two for sums in float64; 1.25: residuals while evaluating
  return 4 * (matrices * samples * outputs + 2 * b * b + 6 * b * outputs) + 40 * outputs;
}

double SvrEngine::total_primal() const { return std::accumulate(s_.primal.begin(), s_.primal.end(), 0.0); }
double SvrEngine::total_dual() const { return std::accumulate(s_.dual.begin(), s_.dual.end(), 0.0); }
double SvrEngine::gap() const { return relative(total_primal(), total_dual()); }

/// Targets of the outputs being solved.
void SvrEngine::take_targets() {
  pool_.parallel_for(order_.size(), kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < active(); ++j) a_.data()[i * active() + j] = targets_(order_[i], s_.output[j]);
  });
}

/// Makes all outputs the ones being solved; beta is taken from `result`.
void SvrEngine::select_all() {
  s_.output.resize(targets_.cols());
  std::iota(s_.output.begin(), s_.output.end(), 0u);
  for (std::size_t i = 0; i < order_.size(); ++i) std::ranges::copy(s_.result.row(order_[i]), s_.beta.row(i).begin());
  take_targets();
}

void SvrEngine::store_result() {
  for (std::size_t i = 0; i < order_.size(); ++i)
    for (std::size_t j = 0; j < active(); ++j) s_.result(order_[i], s_.output[j]) = s_.beta.data()[i * active() + j];
}

void SvrEngine::report_pass() const {
  report(progress_, {"svr", static_cast<std::uint64_t>(s_.counters.pass),
                     static_cast<std::uint64_t>(options_.max_passes), "passes"});
}

void SvrEngine::begin(MatrixView<const float> start) {
  const std::size_t n = order_.size(), m = targets_.cols();
  if (!start.empty()) {
    const float c = static_cast<float>(options_.c);
    const std::vector<float> weight(n, 1.0f);
    pool_.parallel_for(m, 16, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = first; j < last; ++j) s_.result(i, j) = std::clamp(start(i, j), -c, c);
      std::vector<double> rest(last - first, 0.0);
      if (options_.global_bias)
        shrink_to_zero_sum(n, last - first, m, weight.data(), 0.0f, c, s_.result.data() + first, rest.data());
    });
  }
  select_all();
  refresh();
  evaluate_and_keep();
  restart_from_here();
  log_pass();
}

// Forgets earlier steps: nothing to extrapolate from.
void SvrEngine::restart_from_here() {
  std::memcpy(s_.previous_beta.data(), s_.beta.data(), order_.size() * active() * sizeof(float));
  std::memcpy(s_.previous_values.data(), s_.values.data(), order_.size() * active() * sizeof(float));
  std::fill(s_.momentum.begin(), s_.momentum.end(), 1.0);
}

// values = Tβ from nothing and in float64, so that roundings are gone: in float32, sums of thousands of terms that
// cancel each other would keep the gap of a large C from falling.
void SvrEngine::multiply(const Matrix<float>& beta, Matrix<float>& values) {
  const std::size_t n = order_.size(), m = active();
  Matrix<double> sum(n, m, 0.0);
  for (std::size_t b = 0; b < kernel_.blocks(); ++b) {
    report_pass();
    const std::size_t first = kernel_.begin(b), size = kernel_.size(b);
    const MatrixView<const float> rows(beta.data() + first * m, size, m);
    if (std::ranges::all_of(rows.values(), [](float v) { return v == 0; })) continue;
    const Matrix<double> change = to_double(rows);
    const float* panel = kernel_.panel(b);
    pool_.parallel_for(n, kRowGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
      const Matrix<double> part = to_double({panel + begin * size, end - begin, size});
      gemm(Trans::no, Trans::no, end - begin, m, size, 1, part.data(), size, change.data(), m, 1, sum.row(begin).data(),
           m);
    });
    kernel_.count(2 * static_cast<double>(n * m * size), 4 * static_cast<double>(n * (size + 4 * m)));
  }
  std::ranges::copy(sum.values(), values.data());
}

void SvrEngine::refresh() {
  multiply(s_.beta, s_.values);
  s_.counters.fresh = 1;
}

void SvrEngine::evaluate() {
  primal_.resize(active());
  dual_.resize(active());
  bias_.resize(active());
  evaluate_svr(pool_, view(a_), view(s_.values), view(s_.beta), options_.c, options_.epsilon, options_.global_bias,
               {primal_, dual_, bias_});
}

void SvrEngine::evaluate_and_keep() {
  evaluate();
  for (std::size_t j = 0; j < active(); ++j) keep(j);
}

void SvrEngine::keep(std::size_t j) {
  const std::uint32_t o = s_.output[j];
  s_.primal[o] = primal_[j];
  s_.dual[o] = dual_[j];
  s_.bias[o] = bias_[j];
  if (s_.ascending[o] == 0) s_.multiplier[o] = bias_[j];
}

void SvrEngine::advance() {
  if (active_set_pays())
    try_active_set();
  else
    sweep();
}

bool SvrEngine::active_set_pays() const {
  if (!active_sets_) return false;
  const double n = static_cast<double>(order_.size()), spent = kernel_.flops() - tried_,
               rest = spent - (active_set_ ? 0 : n * n * n);
  return rest >= kExpectedRounds * 6 * n * n * static_cast<double>(active()) &&
         rest >= SvrActiveSet::flops(view(s_.beta), options_.c, kExpectedRounds);
}

// Where it cannot go on at this precision, sweeps do.
void SvrEngine::try_active_set() {
  refresh();
  evaluate_and_keep();
  restart_from_here();
  try {
    solve_active_set();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::failure) throw;
    active_sets_ = false;
    active_set_.reset();
  }
  std::swap(s_.beta, s_.previous_beta);
  std::swap(s_.values, s_.previous_values);
  restart_from_here();
  s_.counters.fresh = 0;
  tried_ = kernel_.flops();
  drop_done();
}

/// The best points are in `previous` then.
void SvrEngine::solve_active_set() {
  const double n = static_cast<double>(order_.size()), m = static_cast<double>(active());
  if (!active_set_) {
    kernel_.count(n * n * n, 8 * n * n);
    active_set_ = std::make_unique<SvrActiveSet>(kernel_, pool_, [&] { report_pass(); });
  }
  active_set_->begin(view(a_), view(s_.beta), view(s_.values), bias_, options_.c, options_.epsilon,
                     options_.global_bias);
  for (int round = 0; round < kRounds && s_.counters.pass < options_.max_passes; ++round) {
    const double flops = SvrActiveSet::flops(view(s_.beta), options_.c, 1);
    if (converged() || (round > 0 && active_set_->settled()) || !std::isfinite(flops)) break;
    s_.counters.pass += 1;
    report_pass();
    kernel_.count(flops, 8 * n * n + 40 * n * m);
    const std::vector<char> feasible = active_set_->round(view(a_), view(s_.beta), view(s_.values));
    refresh();
    evaluate();
    std::vector<char> better(active());
    for (std::size_t j = 0; j < active(); ++j) {
      const std::uint32_t o = s_.output[j];
      better[j] = feasible[j] != 0 && primal_[j] - dual_[j] < s_.primal[o] - s_.dual[o];
      if (better[j] != 0) keep(j);
    }
    copy_outputs(better, s_.beta, s_.previous_beta);
    copy_outputs(better, s_.values, s_.previous_values);
    log_pass();
  }
}

void SvrEngine::sweep() {
  s_.counters.pass += 1;
  if (s_.counters.pass % kRefresh == 0) {
    refresh();
    multiply(s_.previous_beta, s_.previous_values);
    evaluate_and_keep();
  }
  extrapolate();
  s_.counters.fresh = 0;
  std::vector<double> sum(active(), 0.0), uncancelled(active(), 0.0);
  if (options_.global_bias) sum = column_sums(s_.beta);
  const auto visits = Rng(options_.seed, static_cast<std::uint64_t>(s_.counters.pass)).permutation(kernel_.blocks());
  for (std::size_t v = 0; v < visits.size(); ++v) visit(visits[v], v + 1 == visits.size(), sum, uncancelled);
  if (options_.global_bias) {  // rarely needed: what the last block could not take goes to the ones before it
    std::vector<double> ignored(active());
    for (std::size_t v = visits.size() - 1; v-- > 0;) {
      if (std::all_of(sum.begin(), sum.end(), [&](double x) { return std::fabs(x) <= 1e-6 * options_.c; })) break;
      visit(visits[v], true, sum, ignored);
    }
  }
  evaluate();
  accept(uncancelled);
  log_pass();
  drop_done();
}

/// Of N x outputs being solved.
std::vector<double> SvrEngine::column_sums(const Matrix<float>& values) const {
  const std::size_t m = active(), chunks = ThreadPool::chunk_count(order_.size(), kRowGrain);
  std::vector<double> part(chunks * m, 0.0), sum(m, 0.0);
  pool_.parallel_for(order_.size(), kRowGrain, [&](std::size_t first, std::size_t last, std::size_t chunk) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < m; ++j) part[chunk * m + j] += values.data()[i * m + j];
  });
  for (std::size_t chunk = 0; chunk < chunks; ++chunk)
    for (std::size_t j = 0; j < m; ++j) sum[j] += part[chunk * m + j];
  return sum;
}

// β ← β + θ(β − previous), and the same for the values; previous ← β.
void SvrEngine::extrapolate() {
  std::vector<float> theta(active());
  for (std::size_t j = 0; j < active(); ++j) {
    double& t = s_.momentum[s_.output[j]];
    const double next = 0.5 * (1 + std::sqrt(1 + 4 * t * t));
    theta[j] = static_cast<float>(kDamping * (t - 1) / next);
    t = next;
  }
  const auto move = [&](Matrix<float>& now, Matrix<float>& before) {
    pool_.parallel_for(order_.size(), kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i) {
        float *x = now.data() + i * active(), *p = before.data() + i * active();
        for (std::size_t j = 0; j < active(); ++j) {
          const float v = x[j];
          x[j] = v + theta[j] * (v - p[j]);
          p[j] = v;
        }
      }
    });
  };
  move(s_.beta, s_.previous_beta);
  move(s_.values, s_.previous_values);
}

void SvrEngine::visit(std::size_t block, bool last, std::vector<double>& sum, std::vector<double>& uncancelled) {
  report_pass();
  const std::size_t n = kernel_.size(block), m = active(), row = kernel_.begin(block);
  const float tau = s_.counters.tau;
  kernel_.diagonal_block(block, block_kernel_.data());
  if (tau != 0)
    for (std::size_t i = 0; i < n * n; ++i) block_kernel_.data()[i] -= tau;
  std::copy_n(s_.values.data() + row * m, n * m, gradient_.data());
  const BlockProblem p{n,
                       m,
                       block_kernel_.data(),
                       gradient_.data(),
                       s_.beta.data() + row * m,
                       delta_.data(),
                       static_cast<float>(options_.c),
                       static_cast<float>(options_.epsilon),
                       kernel_.blocks() == 1 ? kSweepsAlone : kSweeps};
  pool_.parallel_for(m, column_grain(m), [&](std::size_t first, std::size_t end, std::size_t) {
    std::vector<float> shift(end - first);
    for (std::size_t j = first; j < end; ++j)
      shift[j - first] = s_.multiplier[s_.output[j]] - tau * static_cast<float>(sum[j]);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = first; j < end; ++j)
        gradient_.data()[i * m + j] += shift[j - first] - a_.data()[(row + i) * m + j];
    solve_block(p, first, end, sum.data());
    if (!last || !options_.global_bias) return;
    for (std::size_t j = first; j < end; ++j) uncancelled[j] = sum[j];
    cancel_sum(p, first, end, sum.data());
  });
  kernel_.count(2.0 * static_cast<double>(n * n * m) * p.sweeps, 0);
  const float* delta = delta_.data();
  if (std::any_of(delta, delta + n * m, [](float v) { return v != 0; })) kernel_.commit(block, delta, view(s_.values));
}

// Keeps the outputs whose dual value rose (or whose gap fell); the others go back and lose their momentum.
void SvrEngine::accept(const std::vector<double>& uncancelled) {
  std::vector<char> back(active(), 0);
  bool any = false;
  std::size_t failures = 0;
  const double step = std::max(kernel_.mean() - s_.counters.tau, 0.0);
  for (std::size_t j = 0; j < active(); ++j) {
    const std::uint32_t o = s_.output[j];
    // Near the optimum dual values change by roundings alone: there the primal has a say.
    const double noise = kNoise * std::fabs(s_.dual[o]), rise = dual_[j] - s_.dual[o];
    const double gap_now = primal_[j] - dual_[j], gap_before = s_.primal[o] - s_.dual[o];
    const bool keep = rise >= noise || gap_now < gap_before || (rise >= 0 && gap_now < 2 * gap_before);
    const bool extrapolated = s_.momentum[o] > kFirstMomentum;
    if (rise < 0 || !keep) s_.momentum[o] = 1;
    if (keep) {
      s_.primal[o] = primal_[j];
      s_.dual[o] = dual_[j];
      s_.bias[o] = bias_[j];
    } else {
      back[j] = 1;
      any = true;
      if (!extrapolated) {  // the multiplier is at fault
        s_.ascending[o] = 1;
        ++failures;
      }
    }
    if (s_.ascending[o] != 0)
      s_.multiplier[o] += static_cast<float>(step * uncancelled[j]);
    else
      s_.multiplier[o] = s_.bias[o];
  }
  // Without its constant part the kernel may have ceased to be positive: take out less.
  if (2 * failures > active()) s_.counters.tau *= 0.5f;
  if (!any) return;
  s_.counters.fresh = 0;
  copy_outputs(back, s_.previous_beta, s_.beta);
  copy_outputs(back, s_.previous_values, s_.values);
}

void SvrEngine::copy_outputs(const std::vector<char>& which, const Matrix<float>& from, Matrix<float>& to) {
  pool_.parallel_for(order_.size(), kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first * active(); i < last * active(); i += active())
      for (std::size_t j = 0; j < active(); ++j)
        if (which[j] != 0) to.data()[i + j] = from.data()[i + j];
  });
}

void SvrEngine::log_pass() {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  const SvrPass p{s_.counters.pass, total_primal(), total_dual(), gap(), static_cast<int>(active()), spent.count()};
  s_.passes.push_back(p);
  report_message(progress_,
                 fmt::format("pass {}  primal {:.6g}  dual {:.6g}  gap {:.1e}  outputs {}/{}  {:.1f} s", p.pass,
                             p.primal, p.dual, p.relative_gap, p.active_outputs, targets_.cols(), p.seconds));
}

// Outputs within the tolerance leave once they are a quarter of those being solved.
void SvrEngine::drop_done() {
  std::vector<std::uint32_t> keep;
  for (std::size_t j = 0; j < active(); ++j)
    if (relative(s_.primal[s_.output[j]], s_.dual[s_.output[j]]) > 0.9 * options_.tolerance)
      keep.push_back(static_cast<std::uint32_t>(j));
  const std::size_t m = active(), left = keep.size();
  if (left == 0 || 4 * left > 3 * m) return;
  store_result();
  for (Matrix<float>* x : {&a_, &s_.beta, &s_.previous_beta, &s_.values, &s_.previous_values})
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::size_t j = 0; j < left; ++j) x->data()[i * left + j] = x->data()[i * m + keep[j]];
  for (std::size_t j = 0; j < left; ++j) s_.output[j] = s_.output[keep[j]];
  s_.output.resize(left);
}

bool SvrEngine::certify() {
  store_result();
  if (active() == targets_.cols() && s_.counters.fresh != 0) return converged();
  select_all();
  refresh();
  evaluate_and_keep();
  if (converged()) return true;
  restart_from_here();
  drop_done();
  return false;
}

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
        gemm(Trans::no, Trans::no, rows, w, sweep > 0 ? n : s, 1, p.kernel + s * n, n, delta.data(), w, 1, g.data(), w);
      step_samples(rows, w, p.kernel + s * n + s, n, g.data(), p.beta + s * p.outputs + first, p.outputs,
                   delta.data() + s * w, move.data(), p.c, p.epsilon);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(delta.data() + i * w, w, p.delta + i * p.outputs + first);
    for (std::size_t j = 0; j < w; ++j) sum[first + j] += delta[i * w + j];
  }
}

void shrink_to_zero_sum(std::size_t n, std::size_t columns, std::size_t ld, const float* weight, float epsilon, float c,
                        float* u, double* rest) {
  const std::vector<double> offset(rest, rest + columns);
  std::vector<float> low(columns, 0.0f), high(columns, 0.0f), shift(columns, 0.0f);
  std::vector<double> sum(columns);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const float reach = (std::fabs(u[i * ld + j]) + c) / weight[i] + epsilon;
      high[j] = std::max(high[j], reach * 1.0001f);
    }
  for (std::size_t j = 0; j < columns; ++j) low[j] = -high[j];
  for (int k = 0; k < kBisections; ++k) {
    sum = offset;
    sum_of_shrunk(n, columns, ld, weight, epsilon, c, u, shift.data(), sum.data());
    for (std::size_t j = 0; j < columns; ++j) {
      if (sum[j] == 0) continue;
      (sum[j] > 0 ? low[j] : high[j]) = shift[j];
      shift[j] = 0.5f * (low[j] + high[j]);
    }
  }
  sum = offset;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      u[i * ld + j] = box_shrink(u[i * ld + j] - shift[j] * weight[i], epsilon * weight[i], c);
      sum[j] += u[i * ld + j];
    }
  // The remainder (a rounding, or a sample standing between 0 and its tube) goes to whoever has room; twice, because
  // the first distribution is rounded as well.
  for (int round = 0; round < 2; ++round) {
    std::vector<double> slack(columns, 0.0), after = offset;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < columns; ++j) slack[j] += sum[j] > 0 ? u[i * ld + j] + c : c - u[i * ld + j];
    std::vector<float> share(columns);
    for (std::size_t j = 0; j < columns; ++j)
      share[j] = sum[j] == 0 || slack[j] <= 0 ? 0.0f : static_cast<float>(std::min(1.0, std::fabs(sum[j]) / slack[j]));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        float& v = u[i * ld + j];
        v = sum[j] > 0 ? v - share[j] * (v + c) : v + share[j] * (c - v);
        v = std::clamp(v, -c, c);
        after[j] += v;
      }
    sum = after;
  }
  std::ranges::copy(sum, rest);
}

void cancel_sum(const BlockProblem& p, std::size_t first, std::size_t last, double* sum) {
  const std::size_t w = last - first, n = p.n;
  std::vector<float> u(n * w), g(n * w), weight(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(p.gradient + i * p.outputs + first, w, g.data() + i * w);
    weight[i] = 1 / std::max(p.kernel[i * n + i], 1e-20f);
  }
  gemm(Trans::no, Trans::no, n, w, n, 1, p.kernel, n, p.delta + first, p.outputs, 1, g.data(), w);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < w; ++j) {
      const float b = p.beta[i * p.outputs + first + j];
      u[i * w + j] = b - g[i * w + j] * weight[i];
      sum[first + j] -= b;
    }
  shrink_to_zero_sum(n, w, w, weight.data(), p.epsilon, p.c, u.data(), sum + first);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < w; ++j) {
      const std::size_t at = i * p.outputs + first + j;
      p.delta[at] += u[i * w + j] - p.beta[at];
      p.beta[at] = u[i * w + j];
    }
}

}  // namespace parsnets
