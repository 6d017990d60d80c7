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
#include "solvers/svr_inputs.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kBlock = 64, kPrimalBlock = 256;  // in primal form a block must give each network some samples
constexpr double kUsualPasses = 20;                     // over which the cost of a stored kernel is spread

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
  for (std::size_t halvings = 0;; ++halvings) {
    std::size_t largest = 0;
    for (SvrForm form : forms) {
      const std::size_t usual = form == SvrForm::primal ? kPrimalBlock : kBlock;
      const std::size_t whole = std::min(o.block == 0 ? usual : static_cast<std::size_t>(o.block), n);
      const std::size_t block = halvings == 0 ? whole : std::max(whole >> halvings, kSmallestSvrBlock);
      const double need = bytes(form, block);
      largest = std::max(largest, block);
      least = std::min(least, need);
      if (need <= limit)
        return {form, block, form == SvrForm::stored_kernel && need + ShiftedFactor::bytes_needed(n, block) <= limit};
    }
    if (largest <= kSmallestSvrBlock) break;
  }
  throw Error(ErrorCode::usage,
              fmt::format("{}: expected at least {:.0f} bytes for an SVR of {} samples and {} outputs, found {}",
                          option_name("memory-limit"), std::ceil(least), n, m, o.memory_limit));
}

}  // namespace

SvrResult solve_svr(const GatedSamples& samples, MatrixView<const float> targets, const SvrOptions& options,
                    ThreadPool& pool, ProgressObserver* progress, MatrixView<const float> start) {
  use_serial_blas();
  check_svr_options(options);
  check_svr_samples(samples, pool);
  const std::size_t n = samples.z.rows(), m = targets.cols();
  check_svr_targets(samples, targets, start, pool);

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
  check_svr_samples(samples, pool);
  check_svr_beta(samples, beta);
  const std::size_t n = samples.z.rows(), m = beta.cols();
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  const std::size_t block = std::min<std::size_t>(n, 2048);
  GatedKernel kernel(samples, order, block, SvrForm::primal, pool, nullptr);
  Matrix<float> theta(kernel.state_rows(), m, 0.0f);
  for (std::size_t b = 0; b < kernel.blocks(); ++b) kernel.commit(b, beta.data() + kernel.begin(b) * m, theta.view());
  return theta;
}

}  // namespace parsnets
