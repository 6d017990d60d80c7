#include "solvers/svr_shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "base/machine.hpp"
#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "solvers/gated_kernel.hpp"
#include "solvers/svr_block.hpp"
#include "solvers/svr_group.hpp"
#include "solvers/svr_inputs.hpp"
#include "solvers/svr_shards_checkpoint.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kRowGrain = 256;
constexpr std::size_t kFeatureBlock = 2048;  // samples that go through the features together
constexpr std::size_t kBlock = 128, kPrimalBlock = 256;
constexpr int kSweeps = 4;              // of coordinate descent in one visit of a block
constexpr int kLocalPasses = 4;         // over the own samples in a round
constexpr double kCoupling = 0.5;       // of σ′ = 1 + kCoupling·(P − 1); 1 always holds, but is slower
constexpr double kDamping = 0.9;        // of the extrapolation
constexpr double kConstantPart = 0.8;   // of the kernel's mean, which is scaled apart
constexpr double kFirstMomentum = 1.7;  // the sequence's second value is 1.62: an output there was not extrapolated
constexpr double kShortStep = 0.05;     // ends the extrapolation

struct Plan {
  SvrForm form;
  std::size_t block;
};

// The cheapest form of the local sweeps that fits the limit.
Plan make_plan(const GatedSamples& s, std::size_t m, const SvrOptions& o) {
  const std::size_t n = s.z.rows(), h = s.z.cols(), k = s.open.cols();
  const double rows = static_cast<double>(n), width = static_cast<double>(h + 1), outputs = static_cast<double>(m),
               networks = static_cast<double>(s.networks);
  const auto block_of = [&](SvrForm form) {
    const std::size_t usual = form == SvrForm::primal ? kPrimalBlock : kBlock;
    return std::min(o.block == 0 ? usual : static_cast<std::size_t>(o.block), n);
  };
  const auto bytes = [&](SvrForm form) {
    const double b = static_cast<double>(block_of(form)), states = form == SvrForm::primal ? 2 : 1;
    return GatedKernel::bytes_needed(n, h, s.networks, k, std::min(n, kFeatureBlock), SvrForm::primal) +
           GatedKernel::bytes_needed(n, h, s.networks, k, block_of(form), form) +
           4 * (6 * rows * outputs + states * networks * width * outputs + 2 * b * b + 6 * b * outputs);
  };
  const auto cost = [&](SvrForm form) {
    const double products = 2 * rows * rows * outputs, kernel = 2 * rows * rows * (width + networks);
    if (form == SvrForm::stored_kernel) return products;
    if (form == SvrForm::recomputed_kernel) return products + kernel;
    return 1.5 * 4 * rows * static_cast<double>(k) * width * outputs;  // smaller products run slower
  };
  std::vector<SvrForm> forms{o.form};
  if (o.form == SvrForm::automatic) {
    forms = {SvrForm::stored_kernel, SvrForm::recomputed_kernel, SvrForm::primal};
    std::stable_sort(forms.begin(), forms.end(), [&](SvrForm a, SvrForm b) { return cost(a) < cost(b); });
  }
  double least = std::numeric_limits<double>::infinity();
  for (SvrForm form : forms) {
    least = std::min(least, bytes(form));
    if (o.memory_limit == 0 || bytes(form) <= static_cast<double>(o.memory_limit)) return {form, block_of(form)};
  }
  throw Error(ErrorCode::usage,
              fmt::format("{}: expected at least {:.0f} bytes for a share of {} samples and {} outputs, found {}",
                          option_name("memory-limit"), std::ceil(least), n, m, o.memory_limit));
}

class SvrShard {
 public:
  SvrShard(const GatedSamples& samples, MatrixView<const float> targets, const SvrOptions& options, const Plan& plan,
           Processes& group, ThreadPool& pool, ProgressObserver* progress)
      : options_(options),
        group_(group),
        pool_(pool),
        progress_(group.rank() == 0 ? progress : nullptr),
        n_(samples.z.rows()),
        m_(targets.cols()),
        sigma_(static_cast<float>(1 + kCoupling * static_cast<double>(group.size() - 1))),
        order_(Rng(options.seed, group.rank()).permutation(n_)),
        features_(samples, order_, std::min(n_, kFeatureBlock), SvrForm::primal, pool, nullptr),
        local_(samples, order_, plan.block, plan.form, pool, nullptr),
        a_(n_, m_),
        f_(n_, m_, 0.0f),
        previous_f_(n_, m_, 0.0f),
        residual_(n_, m_),
        theta_(features_.state_rows(), m_, 0.0f),
        beta_(n_, m_, 0.0f),
        previous_beta_(n_, m_, 0.0f),
        block_kernel_(plan.block, plan.block),
        gradient_(plan.block, m_),
        delta_(plan.block, m_),
        momentum_(m_, 1.0) {
    if (plan.form == SvrForm::primal) previous_theta_ = Matrix<float>(theta_.rows(), m_, 0.0f);
    for (std::size_t i = 0; i < n_; ++i) std::copy_n(targets.row(order_[i]).begin(), m_, a_.row(i).begin());
    s_.multiplier.assign(m_, 0.0f);
    s_.ascending.assign(m_, 0);
    bias_.assign(m_, 0.0f);
  }

  ShardState& state() { return s_; }
  double gap() const { return (primal_ - dual_) / std::max(primal_, 1e-300); }

  /// Sizes and the kernel's constant part, over all processes.
  void meet(std::uint64_t total) {
    total_ = total;
    std::vector<double> smallest(group_.size(), 0.0);
    double& own = smallest[group_.rank()] = local_.diagonal(0);
    for (std::size_t i = 1; i < n_; ++i) own = std::min(own, local_.diagonal(i));
    group_.sum(smallest);
    Matrix<float> sum(theta_.rows(), 1, 0.0f);  // ΣΦ(x), whose square is 1ᵀT1
    const std::vector<float> ones(n_, 1.0f);
    for (std::size_t b = 0; b < features_.blocks(); ++b) features_.commit(b, ones.data(), sum.view());
    group_.sum(sum.values());
    for (float v : sum.values()) mean_ += static_cast<double>(v) * v;
    mean_ /= static_cast<double>(total) * static_cast<double>(total);
    s_.tau =
        static_cast<float>(std::min(kConstantPart * mean_, 0.5 * *std::min_element(smallest.begin(), smallest.end())));
  }

  /// Goes on from `beta` (n x m in the caller's order, feasible up to rounding, may be empty for zeros).
  void begin(MatrixView<const float> beta) {
    if (!beta.empty()) {
      const float c = static_cast<float>(options_.c);
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t j = 0; j < m_; ++j) beta_(i, j) = std::clamp(beta(order_[i], j), -c, c);
      if (options_.global_bias)
        shrink_group_to_zero_sum(group_, pool_, std::vector<float>(n_, 1.0f), 0.0f, c, beta_.view());
      sum_networks();
    }
    evaluate();
    remember();
    if (s_.passes.empty()) log_round(0);
  }

  void round() {
    s_.round += 1;
    extrapolate();
    std::vector<double> sum(m_, 0.0);
    for (int pass = 0; pass < kLocalPasses; ++pass) {
      const auto stream = static_cast<std::uint64_t>(s_.round) * kLocalPasses + static_cast<std::uint64_t>(pass);
      for (std::size_t b : Rng(options_.seed, stream).permutation(local_.blocks())) visit(b, sum);
    }
    std::vector<double> uncancelled(m_, 0.0);
    if (options_.global_bias) cancel_sum(sum, uncancelled);
    sum_networks();
    const std::vector<float> step = best_steps();
    interpolate(step);
    evaluate();
    adjust(step, uncancelled);
    double ended[2] = {asked_to_stop_ ? 1.0 : 0.0, group_.rank() == 0 ? seconds() : 0.0};
    group_.sum(std::span<double>(ended));
    log_round(ended[1]);
    if (ended[0] != 0) throw Error(ErrorCode::cancelled, "interrupted during: svr");
  }

  Matrix<float> beta() const {
    Matrix<float> result(n_, m_);
    for (std::size_t i = 0; i < n_; ++i) std::copy_n(beta_.row(i).begin(), m_, result.row(order_[i]).begin());
    return result;
  }
  const std::vector<float>& bias() const { return bias_; }
  double primal() const { return primal_; }
  double dual() const { return dual_; }
  SvrForm form() const { return local_.form(); }
  double flops() const { return features_.flops() + local_.flops(); }
  double bytes() const { return features_.bytes() + local_.bytes(); }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  // Added to the scaled kernel. With Σβ = 0 the constant part τ11ᵀ of T counts for nothing; without, it ties all
  // processes together and gets the full scale.
  float constant() const {
    return s_.tau * (options_.global_bias ? -sigma_ : static_cast<float>(group_.size()) - sigma_);
  }
  bool primal_form() const { return local_.form() == SvrForm::primal; }
  Matrix<float>& values() { return primal_form() ? theta_ : f_; }
  template <class F>
  void for_rows(F&& f) {
    pool_.parallel_for(n_, kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i) f(i);
    });
  }
  void multiply_features() {
    for (std::size_t b = 0; b < features_.blocks(); ++b)
      features_.block_values(b, theta_.view(), f_.data() + features_.begin(b) * m_);
  }

  // Θ = Σ Φᵀβ over all processes, and f = ΦΘ: nothing of earlier rounds is left in them.
  void sum_networks() {
    std::fill(theta_.values().begin(), theta_.values().end(), 0.0f);
    for (std::size_t b = 0; b < features_.blocks(); ++b)
      features_.commit(b, beta_.data() + features_.begin(b) * m_, theta_.view());
    group_.sum(theta_.values());
    multiply_features();
  }

  void remember() {
    std::copy_n(beta_.data(), beta_.size(), previous_beta_.data());
    std::copy_n(f_.data(), f_.size(), previous_f_.data());
    if (primal_form()) std::copy_n(theta_.data(), theta_.size(), previous_theta_.data());
  }

  // x ← x + θ(x − previous), previous ← x.
  void extrapolate() {
    std::vector<float> theta(m_);
    for (std::size_t j = 0; j < m_; ++j) {
      const double next = 0.5 * (1 + std::sqrt(1 + 4 * momentum_[j] * momentum_[j]));
      theta[j] = static_cast<float>(kDamping * (momentum_[j] - 1) / next);
      momentum_[j] = next;
    }
    const auto move = [&](Matrix<float>& now, Matrix<float>& before) {
      pool_.parallel_for(now.rows(), kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
        for (std::size_t i = first; i < last; ++i)
          for (std::size_t j = 0; j < m_; ++j) {
            const float v = now(i, j);
            now(i, j) = v + theta[j] * (v - before(i, j));
            before(i, j) = v;
          }
      });
    };
    move(beta_, previous_beta_);
    move(f_, previous_f_);
    if (primal_form()) move(theta_, previous_theta_);
  }

  void visit(std::size_t block, std::vector<double>& sum) {
    if (progress_ != nullptr && !asked_to_stop_)
      asked_to_stop_ = !progress_->on_progress(
          {"svr", static_cast<std::uint64_t>(s_.round), static_cast<std::uint64_t>(options_.max_passes), "rounds"});
    const std::size_t n = local_.size(block), row = local_.begin(block);
    local_.diagonal_block(block, block_kernel_.data());
    for (std::size_t i = 0; i < n * n; ++i) block_kernel_.data()[i] = sigma_ * block_kernel_.data()[i] + constant();
    local_.block_values(block, values().view(), gradient_.data());
    BlockProblem p;
    p.n = n;
    p.outputs = m_;
    p.kernel = block_kernel_.data();
    p.gradient = gradient_.data();
    p.beta = beta_.data() + row * m_;
    p.delta = delta_.data();
    p.c = static_cast<float>(options_.c);
    p.epsilon = static_cast<float>(options_.epsilon);
    p.sweeps = kSweeps;
    pool_.parallel_for(m_, column_grain(m_), [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t j = first; j < last; ++j) {
        const float shift = s_.multiplier[j] + constant() * static_cast<float>(sum[j]);
        for (std::size_t i = 0; i < n; ++i) gradient_.data()[i * m_ + j] += shift - a_(row + i, j);
      }
      solve_block(p, first, last, sum.data());
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = first; j < last; ++j) delta_.data()[i * m_ + j] *= sigma_;
    });
    local_.count(2.0 * static_cast<double>(n * n * m_) * kSweeps, 0);
    local_.commit(block, delta_.data(), values().view());
  }

  // A proximal step of every sample against a common shift of its local gradient makes Σβ = 0 over all processes.
  void cancel_sum(const std::vector<double>& sum, std::vector<double>& uncancelled) {
    if (primal_form()) multiply_features();
    uncancelled = group_sums(group_, pool_, n_, m_, [&](std::size_t i, double* s) {
      for (std::size_t j = 0; j < m_; ++j) s[j] += beta_(i, j);
    });
    std::vector<float> weight(n_);
    for_rows([&](std::size_t i) {
      weight[i] = 1 / (sigma_ * static_cast<float>(local_.diagonal(i) - s_.tau));
      for (std::size_t j = 0; j < m_; ++j) {
        const float shift = s_.multiplier[j] + constant() * static_cast<float>(sum[j]);
        beta_(i, j) -= (f_(i, j) - a_(i, j) + shift) * weight[i];
      }
    });
    shrink_group_to_zero_sum(group_, pool_, weight, static_cast<float>(options_.epsilon),
                             static_cast<float>(options_.c), beta_.view());
  }

  // Per output, the part of the step from the last point to this one that raises the dual value most; ‖β‖₁ is convex,
  // so that its chord is a bound.
  std::vector<float> best_steps() {
    const double epsilon = options_.epsilon;
    const auto sums = group_sums(group_, pool_, n_, 2 * m_, [&](std::size_t i, double* s) {
      for (std::size_t j = 0; j < m_; ++j) {
        const double before = previous_beta_(i, j), now = beta_(i, j), f = previous_f_(i, j);
        s[j] += (now - before) * (a_(i, j) - f) - epsilon * (std::fabs(now) - std::fabs(before));
        s[m_ + j] += (now - before) * (f_(i, j) - f);
      }
    });
    std::vector<float> step(m_);
    for (std::size_t j = 0; j < m_; ++j)
      step[j] = static_cast<float>(sums[m_ + j] > 0 ? std::clamp(sums[j] / sums[m_ + j], 0.0, 1.0) : sums[j] >= 0);
    return step;
  }

  void interpolate(const std::vector<float>& step) {
    const auto move = [&](Matrix<float>& now, const Matrix<float>& before) {
      pool_.parallel_for(now.rows(), kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
        for (std::size_t i = first; i < last; ++i)
          for (std::size_t j = 0; j < m_; ++j)
            if (step[j] < 1) now(i, j) = before(i, j) + step[j] * (now(i, j) - before(i, j));
      });
    };
    move(beta_, previous_beta_);
    move(f_, previous_f_);
    if (primal_form()) move(theta_, previous_theta_);
  }

  void evaluate() {
    const auto sums = group_sums(group_, pool_, n_, 3 * m_, [&](std::size_t i, double* s) {
      for (std::size_t j = 0; j < m_; ++j) {
        const double b = beta_(i, j);
        residual_(i, j) = a_(i, j) - f_(i, j);
        s[j] += b * f_(i, j);
        s[m_ + j] += b * a_(i, j);
        s[2 * m_ + j] += std::fabs(b);
      }
    });
    if (options_.global_bias)
      bias_ = group_tube_bias(group_, pool_, residual_.view(), static_cast<float>(options_.epsilon), total_);
    const auto loss = group_sums(group_, pool_, n_, m_, [&](std::size_t i, double* s) {
      for (std::size_t j = 0; j < m_; ++j)
        s[j] += std::max(0.0, std::fabs(static_cast<double>(residual_(i, j)) - bias_[j]) - options_.epsilon);
    });
    primal_ = dual_ = 0;
    for (std::size_t j = 0; j < m_; ++j) {
      primal_ += 0.5 * sums[j] + options_.c * loss[j];
      dual_ += sums[m_ + j] - 0.5 * sums[j] - options_.epsilon * sums[2 * m_ + j];
    }
    for (std::size_t j = 0; j < m_; ++j)
      if (s_.ascending[j] == 0) s_.multiplier[j] = bias_[j];
  }

  // A short step ends the extrapolation; without any, the multiplier is at fault.
  void adjust(const std::vector<float>& step, const std::vector<double>& uncancelled) {
    std::size_t failures = 0;
    const double ascent = std::max(mean_ - s_.tau, 0.0);
    for (std::size_t j = 0; j < m_; ++j) {
      if (step[j] <= kShortStep) {
        if (momentum_[j] < kFirstMomentum && options_.global_bias) {
          s_.ascending[j] = 1;
          ++failures;
        }
        momentum_[j] = 1;
      }
      if (s_.ascending[j] != 0) s_.multiplier[j] += static_cast<float>(ascent * uncancelled[j]);
    }
    if (2 * failures > m_) s_.tau *= 0.5f;
  }

  void log_round(double time) {
    SvrPass p;
    p.pass = s_.round;
    p.primal = primal_;
    p.dual = dual_;
    p.relative_gap = gap();
    p.active_outputs = static_cast<int>(m_);
    p.seconds = time;
    s_.passes.push_back(p);
    report_message(progress_, fmt::format("round {}  primal {:.6g}  dual {:.6g}  gap {:.1e}  {:.1f} s", p.pass,
                                          p.primal, p.dual, p.relative_gap, p.seconds));
  }

  const SvrOptions& options_;
  Processes& group_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
  std::size_t n_, m_;
  float sigma_;
  std::vector<std::size_t> order_;
  GatedKernel features_, local_;
  Matrix<float> a_, f_, previous_f_, residual_;  ///< n x m
  Matrix<float> theta_, previous_theta_;         ///< (K·(h+1)) x m; the second in the primal form only
  Matrix<float> beta_, previous_beta_;           ///< n x m
  Matrix<float> block_kernel_, gradient_, delta_;
  std::vector<double> momentum_;
  std::vector<float> bias_;
  ShardState s_;
  std::uint64_t total_ = 0;
  double mean_ = 0, primal_ = 0, dual_ = 0;
  bool asked_to_stop_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Own samples of every process by rank; throws, on all alike, unless their problems fit together.
std::vector<std::uint64_t> agree(const GatedSamples& s, std::size_t m, const SvrOptions& o, Processes& group) {
  const std::size_t size = group.size();
  const std::uint64_t mine[6] = {s.z.rows(), s.z.cols(), s.networks, s.open.cols(), m, shard_options_key(o)};
  std::vector<std::uint64_t> table(6 * size, 0);
  for (std::size_t i = 0; i < 6; ++i) table[i * size + group.rank()] = mine[i];
  group.sum(table);
  const char* names[] = {"samples", "values of a sample", "networks", "open networks", "outputs", "options"};
  for (std::size_t i = 1; i < 6; ++i)
    for (std::size_t p = 1; p < size; ++p)
      if (table[i * size + p] != table[i * size])
        throw Error(BadInput{"SVR input", fmt::format("{} of process {}", names[i], p),
                             i == 5 ? "those of process 0" : fmt::format("{}", table[i * size]),
                             i == 5 ? "others" : fmt::format("{}", table[i * size + p]),
                             "give all processes shares of one problem"});
  table.resize(size);
  return table;
}

}  // namespace

SvrResult solve_svr(const GatedSamples& own_samples, MatrixView<const float> own_targets, const SvrOptions& options,
                    Processes& processes, ThreadPool& pool, ProgressObserver* progress,
                    MatrixView<const float> own_start) {
  use_serial_blas();
  std::optional<SvrShard> shard;
  together(processes, [&] {
    check_svr_options(options);
    check_svr_samples(own_samples, pool);
    check_svr_targets(own_samples, own_targets, own_start, pool);
    const Plan plan = make_plan(own_samples, own_targets.cols(), options);
    shard.emplace(own_samples, own_targets, options, plan, processes, pool, progress);
  });
  const auto counts = agree(own_samples, own_targets.cols(), options, processes);
  shard->meet(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const ShardCheckpoint checkpoint(own_samples, own_targets, options, counts, processes);
  Matrix<float> resumed;
  if (options.resume) resumed = checkpoint.read(shard->state());
  shard->begin(resumed.empty() ? own_start : resumed.view());
  while (shard->gap() > options.tolerance && shard->state().round < options.max_passes) {
    shard->round();
    if (!options.checkpoint.empty() && shard->state().round % options.checkpoint_passes == 0)
      checkpoint.write(shard->state(), shard->beta());
  }
  SvrResult result;
  result.beta = shard->beta();
  result.bias = shard->bias();
  result.primal = shard->primal();
  result.dual = shard->dual();
  result.relative_gap = shard->gap();
  result.converged = shard->gap() <= options.tolerance;
  result.passes = std::move(shard->state().passes);
  result.form = shard->form();
  result.flops = shard->flops();
  result.bytes = shard->bytes();
  return result;
}

Matrix<float> networks_from_dual(const GatedSamples& own_samples, MatrixView<const float> own_beta,
                                 Processes& processes, ThreadPool& pool) {
  Matrix<float> theta;
  together(processes, [&] { theta = networks_from_dual(own_samples, own_beta, pool); });
  processes.sum(theta.values());
  return theta;
}

}  // namespace parsnets
