#include "solvers/svr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/machine.hpp"
#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "solvers/gated_kernel.hpp"
#include "solvers/svr_checkpoint.hpp"
#include "solvers/svr_engine.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kSmallestBlock = 16;
constexpr double kUsualPasses = 20;  // over which the cost of a stored kernel is spread

[[noreturn]] void impossible(const std::string& what) { throw Error(ErrorCode::usage, "SVR options: " + what); }

void check_options(const SvrOptions& o) {
  if (!(o.c > 0) || !std::isfinite(static_cast<float>(o.c)) || !(static_cast<float>(o.c) > 0))
    impossible(fmt::format("c must be a positive number, found {}", o.c));
  if (!(o.epsilon >= 0) || !std::isfinite(static_cast<float>(o.epsilon)))
    impossible(fmt::format("epsilon must be a number >= 0, found {}", o.epsilon));
  if (!(o.tolerance > 0)) impossible(fmt::format("tolerance must be > 0, found {}", o.tolerance));
  if (o.max_passes < 0) impossible(fmt::format("max_passes must be >= 0, found {}", o.max_passes));
  if (o.block < static_cast<int>(kSmallestBlock))
    impossible(fmt::format("block must be at least {}, found {}", kSmallestBlock, o.block));
  if (o.checkpoint_passes < 1) impossible(fmt::format("checkpoint_passes must be >= 1, found {}", o.checkpoint_passes));
  if (o.resume && o.checkpoint.empty()) impossible("resume needs a checkpoint path");
}

[[noreturn]] void bad_array(std::string field, std::string expected, std::string found) {
  throw Error(BadInput{"SVR input", std::move(field), std::move(expected), std::move(found),
                       "check the shapes of the samples, gates and targets"});
}

std::string shape(std::size_t rows, std::size_t cols) { return fmt::format("{} x {}", rows, cols); }

void check_finite(ThreadPool& pool, MatrixView<const float> x, const char* field) {
  std::vector<char> bad(ThreadPool::chunk_count(x.rows(), 256), 0);
  pool.parallel_for(x.rows(), 256, [&](std::size_t first, std::size_t last, std::size_t chunk) {
    for (std::size_t i = first * x.cols(); i < last * x.cols(); ++i)
      if (!std::isfinite(x.data()[i])) bad[chunk] = 1;
  });
  if (std::any_of(bad.begin(), bad.end(), [](char b) { return b != 0; }))
    bad_array(field, "finite values", "inf or nan");
}

void check_samples(const GatedSamples& s, ThreadPool& pool) {
  const std::size_t n = s.z.rows(), k = s.open.cols();
  const auto largest = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (n == 0 || n > largest / 2 || s.z.cols() >= largest / 2)
    bad_array("z", "at least one sample and dimensions below 2^30", shape(n, s.z.cols()));
  if (s.open.rows() != n)
    bad_array("open", fmt::format("{} rows, one per sample", n), fmt::format("{}", s.open.rows()));
  if (s.networks == 0 || s.networks > 65536 || k == 0 || k > s.networks)
    bad_array("open", fmt::format("1 to {} open networks per sample, at most 65536 networks", s.networks),
              fmt::format("{}", k));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j)
      if (s.open(i, j) >= s.networks || (j > 0 && s.open(i, j) <= s.open(i, j - 1)))
        bad_array(fmt::format("open, row {}", i), fmt::format("ascending network numbers below {}", s.networks),
                  fmt::format("{} at position {}", s.open(i, j), j));
  check_finite(pool, s.z, "z");
}

struct Plan {
  SvrForm form;
  std::size_t block;
  bool split;
};

const char* name_of(SvrForm form) {
  if (form == SvrForm::stored_kernel) return "stored kernel";
  return form == SvrForm::recomputed_kernel ? "recomputed kernel" : "primal";
}

// The cheapest form (flops of a pass) that fits the limit; blocks shrink when nothing fits otherwise.
Plan make_plan(const GatedSamples& s, std::size_t m, const SvrOptions& o) {
  const std::size_t n = s.z.rows(), h = s.z.cols(), k = s.open.cols();
  const double limit =
      o.memory_limit == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(o.memory_limit);
  const double rows = static_cast<double>(n), outputs = static_cast<double>(m), width = static_cast<double>(h + 1),
               networks = static_cast<double>(s.networks);
  const auto bytes = [&](SvrForm form, std::size_t block) {
    const std::size_t state = form == SvrForm::primal ? s.networks * (h + 1) : n;
    return GatedKernel::bytes_needed(n, h, s.networks, k, block, form) +
           SvrEngine::bytes_needed(n, m, state, block, form);
  };
  const auto cost = [&](SvrForm form) {
    const double products = 2 * rows * rows * outputs, kernel = 2 * rows * rows * (width + networks);
    if (form == SvrForm::stored_kernel) return products + kernel / 2 / kUsualPasses;
    if (form == SvrForm::recomputed_kernel) return products + kernel;
    return 1.5 * 6 * rows * static_cast<double>(k) * width * outputs;  // smaller products run slower
  };
  std::vector<SvrForm> forms{o.form};
  if (o.form == SvrForm::automatic) {
    forms = {SvrForm::stored_kernel, SvrForm::recomputed_kernel, SvrForm::primal};
    std::stable_sort(forms.begin(), forms.end(), [&](SvrForm a, SvrForm b) { return cost(a) < cost(b); });
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t block = std::min<std::size_t>(static_cast<std::size_t>(o.block), n);;
       block = std::max(block / 2, kSmallestBlock)) {
    for (SvrForm form : forms) {
      const double need = bytes(form, block);
      least = std::min(least, need);
      if (need <= limit)
        return {form, block, form == SvrForm::stored_kernel && need + ShiftedFactor::bytes_needed(n, block) <= limit};
    }
    if (block <= kSmallestBlock) break;
  }
  throw Error(ErrorCode::usage,
              fmt::format("{}: expected at least {:.0f} bytes for an SVR of {} samples and {} outputs, found {}",
                          option_name("memory-limit"), std::ceil(least), n, m, o.memory_limit));
}

}  // namespace

SvrResult solve_svr(const GatedSamples& samples, MatrixView<const float> targets, const SvrOptions& options,
                    ThreadPool& pool, ProgressObserver* progress, MatrixView<const float> start) {
  use_serial_blas();
  check_options(options);
  check_samples(samples, pool);
  const std::size_t n = samples.z.rows(), m = targets.cols();
  if (targets.rows() != n || m == 0 || m > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    bad_array("targets", fmt::format("{} rows (one per sample) and at least one column", n), shape(targets.rows(), m));
  if (!start.empty() && (start.rows() != n || start.cols() != m))
    bad_array("start", shape(n, m), shape(start.rows(), start.cols()));
  check_finite(pool, targets, "targets");
  check_finite(pool, start, "start");

  const Plan plan = make_plan(samples, m, options);
  SvrOptions resolved = options;
  resolved.form = plan.form;
  resolved.block = static_cast<int>(plan.block);
  report_message(progress,
                 fmt::format("svr: {} samples, {} outputs, {}, blocks of {}", n, m, name_of(plan.form), plan.block));

  const std::vector<std::size_t> order = Rng(options.seed).permutation(n);
  GatedKernel kernel(samples, order, plan.block, plan.form, pool, progress);
  SvrEngine engine(kernel, targets, order, resolved, plan.split, pool, progress);
  const std::uint64_t fingerprint =
      options.checkpoint.empty() ? 0 : svr_fingerprint(samples, targets, start, resolved) + (plan.split ? 1 : 0);
  if (options.resume && std::filesystem::exists(options.checkpoint)) {
    read_svr_checkpoint(options.checkpoint, engine.state(), fingerprint, kernel.state_rows());
    engine.resume();
  } else {
    engine.begin(start);
  }
  for (;;) {
    const int pass = engine.state().counters.pass;
    if (engine.converged() || pass >= options.max_passes) {
      if (engine.certify() || pass >= options.max_passes) break;
    }
    engine.step();
    const int done = engine.state().counters.pass;
    if (!options.checkpoint.empty() && done % options.checkpoint_passes == 0)
      write_svr_checkpoint(options.checkpoint, engine.state(), fingerprint, kernel.state_rows());
  }

  SvrResult result;
  SvrState& state = engine.state();
  result.primal = engine.total_primal();
  result.dual = engine.total_dual();
  result.relative_gap = engine.gap();
  result.converged = engine.converged();
  result.beta = std::move(state.result);
  result.bias = std::move(state.bias);
  result.passes = std::move(state.passes);
  result.form = plan.form;
  result.flops = kernel.flops();
  result.bytes = kernel.bytes();
  return result;
}

Matrix<float> networks_from_dual(const GatedSamples& samples, MatrixView<const float> beta, ThreadPool& pool) {
  use_serial_blas();
  check_samples(samples, pool);
  const std::size_t n = samples.z.rows(), m = beta.cols();
  if (beta.rows() != n || m == 0) bad_array("beta", fmt::format("{} rows", n), shape(beta.rows(), m));
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  const std::size_t block = std::min<std::size_t>(n, 2048);
  GatedKernel kernel(samples, order, block, SvrForm::primal, pool, nullptr);
  Matrix<float> theta(kernel.state_rows(), m, 0.0f);
  for (std::size_t b = 0; b < kernel.blocks(); ++b) kernel.commit(b, beta.data() + kernel.begin(b) * m, theta.view());
  return theta;
}

}  // namespace parsnets
