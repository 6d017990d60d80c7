#pragma once
// The SVR solver's state and its two kinds of step (see svr.hpp for the problem).
//
// Sweep (every form): blocks of samples in a seeded order, each solved in cache (svr_block.hpp) and committed to Tβ (or
//   Θ) by matrix products. Between passes each output is extrapolated along its last step (Nesterov's sequence, damped;
//   Tβ is linear in β, so this is free) and falls back when its dual value drops. With a global bias, Σβ = 0 has a
//   multiplier that is fixed during a pass: the bias that is optimal for the current θ or, for outputs where that
//   failed to raise the dual value, the one of the method of multipliers (it moves along Σβ). The kernel's constant
//   part τ11ᵀ, which would tie all samples together, is taken out of the blocks' kernels. The last block restores Σβ =
//   0.
// Split (stored kernel): where sweeps would be slow (large C), alternating directions on β = w with T + ρI factored:
//   x = (T + ρI)⁻¹(a + ρ(w − u) − b1), Σx = 0;   w = box_shrink(1.6x − 0.6w + u);   u += 1.6x − 0.6w_old − w.

#include <chrono>
#include <memory>
#include <vector>

#include "parsnets/threads.hpp"
#include "solvers/gated_kernel.hpp"
#include "solvers/svr.hpp"
#include "solvers/svr_factor.hpp"

namespace parsnets {

/// The scalars of the state: plain, so that a checkpoint can hold them as they are.
struct SvrCounters {
  std::int32_t pass = 0, splitting = 0, split_allowed = 0, fresh = 0;
  std::int32_t iteration = 0, next_check = 0, last_check = 0, stalls = 0, factors = 0, reserved = 0;
  float rho = 0, tau = 0;
  double last_gap = 0, residual_ratio = 0;
  double recent[4] = {0, 0, 0, 0};  ///< relative gaps of the last sweeps, newest first
  double flops = 0, bytes = 0;
};

struct SvrState {
  SvrCounters counters;
  std::vector<std::uint32_t> output;      ///< the outputs being solved, ascending
  std::vector<double> primal, dual;       ///< of all outputs
  std::vector<float> bias, multiplier;    ///< of all outputs
  std::vector<std::uint8_t> ascending;    ///< of all outputs: the multiplier follows the method of multipliers
  std::vector<double> momentum;           ///< of all outputs
  Matrix<float> beta, previous_beta;      ///< N x outputs being solved; the second is u while splitting
  Matrix<float> values, previous_values;  ///< kernel.state_rows() x outputs being solved; linear in beta
  Matrix<float> result;                   ///< N x m in the caller's order: outputs that are done
  std::vector<SvrPass> passes;
};

class SvrEngine {
 public:
  SvrEngine(GatedKernel& kernel, MatrixView<const float> targets, const std::vector<std::size_t>& order,
            const SvrOptions& options, bool split_allowed, ThreadPool& pool, ProgressObserver* progress);

  /// Bytes an engine holds for these sizes, beside the kernel and the factor.
  static double bytes_needed(std::size_t n, std::size_t m, std::size_t state_rows, std::size_t block, SvrForm form);

  SvrState& state() { return s_; }
  /// Starts from β = start (N x m in the caller's order; clipped to the box and brought to Σβ = 0), or from 0.
  void begin(MatrixView<const float> start);
  /// Prepares for going on from a state that was read back.
  void resume();
  /// Relative gap of the current point is within the tolerance.
  bool converged() const { return gap() <= options_.tolerance; }
  /// One pass (or one iteration of the splitting).
  void step();
  /// Makes the values of every output exact; false when the gap then turns out above the tolerance.
  bool certify();
  double gap() const;
  double total_primal() const;
  double total_dual() const;

 private:
  std::size_t active() const { return s_.output.size(); }
  MatrixView<float> view(Matrix<float>& m, std::size_t rows) { return {m.data(), rows, active()}; }
  MatrixView<float> current_values();
  double seconds() const;
  void sweep();
  void extrapolate();
  void visit(std::size_t block, bool last, std::vector<double>& sum, std::vector<double>& uncancelled);
  void accept(const std::vector<double>& uncancelled);
  void column_sums(std::vector<double>& sum);
  void restart_from_here();
  void multiply(const Matrix<float>& beta, Matrix<float>& values);
  void refresh();
  void evaluate();
  void evaluate_and_keep();
  bool split_pays() const;
  void enter_split();
  void make_factor();
  void split_iteration();
  void split_check();
  void leave_split();
  void zero_sum_of_split();
  void select(const std::vector<std::uint32_t>& outputs);
  void drop_done();
  void log_pass();

  GatedKernel& kernel_;
  MatrixView<const float> targets_;
  const std::vector<std::size_t>& order_;
  const SvrOptions& options_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  SvrState s_;
  Matrix<float> a_;  ///< targets of the outputs being solved, in block order
  Matrix<float> f_;  ///< N x m, primal form only
  Matrix<float> block_kernel_, gradient_, delta_;
  std::vector<double> primal_, dual_;  ///< of the outputs being solved, as just evaluated
  std::vector<float> bias_;            ///< of the outputs being solved, as just evaluated
  std::unique_ptr<ShiftedFactor> factor_;
};

}  // namespace parsnets
