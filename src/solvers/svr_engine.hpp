#pragma once
// The SVR solver's state and its two kinds of step (see svr.hpp for the problem).
//
// Sweep (every form): blocks of samples in a seeded order, each solved in cache (solve_block) and committed to Tβ by
//   matrix products. Between passes each output is extrapolated along its last step (Nesterov's sequence, damped;
//   Tβ is linear in β, so this is free) and falls back when its dual value drops. With a global bias, Σβ = 0 has a
//   multiplier that is fixed during a pass: the bias that is optimal for the current θ or, for outputs where that
//   failed to raise the dual value, the one of the method of multipliers (it moves along Σβ). The kernel's constant
//   part τ11ᵀ, which would tie all samples together, is taken out of the blocks' kernels. The last block restores Σβ =
//   0.
// Split (stored kernel): where sweeps would be slow (large C), alternating directions on β = w with T + ρI factored:
//   x = (T + ρI)⁻¹(a + ρ(w − u) − b1), Σx = 0;   w = box_shrink(1.6x − 0.6w + u);   u += 1.6x − 0.6w_old − w.

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "parsnets/threads.hpp"
#include "solvers/gated_kernel.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

/// Cholesky factor of T + ρI in float, from the stored panels of the kernel, and solves with many right-hand sides.
/// Our own because LAPACK's would run in one thread: here the panels are shared out over the pool, in the order and the
/// pieces that the problem alone decides. Half of N² floats are held.
class ShiftedFactor {
 public:
  /// Throws Error(failure) when T + ρI is not positive definite in float.
  ShiftedFactor(GatedKernel& kernel, float rho, ThreadPool& pool, ProgressObserver* progress);

  /// Bytes an object holds.
  static double bytes_needed(std::size_t n, std::size_t block);

  /// Solves (T + ρI)·X = B in place of B, N x m.
  void solve(MatrixView<float> b) const;
  /// (T + ρI)⁻¹·1 and its sum.
  const std::vector<float>& ones() const { return ones_; }
  double ones_sum() const { return ones_sum_; }

 private:
  float* panel(std::size_t b) { return panels_.data() + offset_[b]; }
  const float* panel(std::size_t b) const { return panels_.data() + offset_[b]; }
  std::size_t begin(std::size_t b) const { return b * block_; }
  std::size_t size(std::size_t b) const { return std::min(block_, n_ - b * block_); }
  void eliminate(std::size_t k);

  std::size_t n_, block_, blocks_;
  ThreadPool& pool_;
  std::vector<std::size_t> offset_;  ///< of block column b, rows begin(b)..N
  Matrix<float> panels_;
  Matrix<float> inverse_;  ///< inverses of the diagonal blocks of L, block_ x block_ each
  std::vector<float> ones_;
  double ones_sum_ = 0;
};

/// The scalars of the state.
struct SvrCounters {
  std::int32_t pass = 0, splitting = 0, split_allowed = 0, fresh = 0;
  std::int32_t iteration = 0, next_check = 0, last_check = 0, stalls = 0, factors = 0;
  float rho = 0, tau = 0;
  double last_gap = 0, residual_ratio = 0;
  double recent[4] = {0, 0, 0, 0};  ///< relative gaps of the last sweeps, newest first
};

struct SvrState {
  SvrCounters counters;
  std::vector<std::uint32_t> output;      ///< the outputs being solved, ascending
  std::vector<double> primal, dual;       ///< of all outputs
  std::vector<float> bias, multiplier;    ///< of all outputs
  std::vector<std::uint8_t> ascending;    ///< of all outputs: the multiplier follows the method of multipliers
  std::vector<double> momentum;           ///< of all outputs
  Matrix<float> beta, previous_beta;      ///< N x outputs being solved; the second is u while splitting
  Matrix<float> values, previous_values;  ///< the same of Tβ; the second is x while splitting
  Matrix<float> result;                   ///< N x m in the caller's order: outputs that are done
  std::vector<SvrPass> passes;
};

class SvrEngine {
 public:
  SvrEngine(GatedKernel& kernel, MatrixView<const float> targets, const std::vector<std::size_t>& order,
            const SvrOptions& options, bool split_allowed, ThreadPool& pool, ProgressObserver* progress);

  /// Bytes an engine holds for these sizes, beside the kernel and the factor.
  static double bytes_needed(std::size_t n, std::size_t m, std::size_t block);

  SvrState& state() { return s_; }
  /// Starts from β = start (N x m in the caller's order; clipped to the box and brought to Σβ = 0), or from 0.
  void begin(MatrixView<const float> start);
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
  MatrixView<float> view(Matrix<float>& m) { return {m.data(), order_.size(), active()}; }
  void sweep();
  void extrapolate();
  void visit(std::size_t block, bool last, std::vector<double>& sum, std::vector<double>& uncancelled);
  void accept(const std::vector<double>& uncancelled);
  std::vector<double> column_sums(const Matrix<float>& values) const;
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
  void take_targets();
  void select_all();
  void store_result();
  void report_pass() const;
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
  Matrix<float> block_kernel_, gradient_, delta_;
  std::vector<double> primal_, dual_;  ///< of the outputs being solved, as just evaluated
  std::vector<float> bias_;            ///< of the outputs being solved, as just evaluated
  std::unique_ptr<ShiftedFactor> factor_;
};

// One block of the SVR dual, solved in cache for a range of outputs: with the block's kernel Q (n x n), the other
// samples fixed and g the gradient Tβ − a + b at the block's rows,
//   min_δ  ½δᵀQδ + gᵀδ + ε‖β+δ‖₁,   −C ≤ β+δ ≤ C
// by coordinate descent that takes one sample at a time for all outputs at once. Q may be T_BB − τ11ᵀ: where Σβ is
// held elsewhere (a global bias), taking the kernel's constant part out of Q lets samples move independently.

struct BlockProblem {
  std::size_t n = 0;                ///< samples of the block
  std::size_t outputs = 0;          ///< row length of beta, gradient and delta
  const float* kernel = nullptr;    ///< Q, n x n
  const float* gradient = nullptr;  ///< n x outputs, at δ = 0
  float* beta = nullptr;            ///< n x outputs, changed in place
  float* delta = nullptr;           ///< n x outputs, out: the change
  float c = 1, epsilon = 0;
  int sweeps = 1;
};

/// Solves outputs first..last-1. `sum` (per output) gets Σδ added.
void solve_block(const BlockProblem& p, std::size_t first, std::size_t last, double* sum);

/// Moves β within the block so that `sum` (per output) becomes 0 at the least cost to the block's objective: every
/// sample takes a proximal step against a common shift of the gradient, found by bisection. Call after solve_block
/// with the same problem. What the block cannot take stays in `sum`.
void cancel_sum(const BlockProblem& p, std::size_t first, std::size_t last, double* sum);

/// The point of [−C, C] that minimises ½(v − u)² + t·|v|.
inline float box_shrink(float u, float t, float c) {
  const float up = u - t > 0 ? u - t : 0.0f, down = u + t < 0 ? u + t : 0.0f, v = up + down;
  return v > c ? c : v < -c ? -c : v;
}

/// Finds per column j of `columns` the shift δ_j with Σ_i box_shrink(u_ij − δ_j·w_i, t_i, c) + rest_j = 0 (as near as
/// floats allow), where t_i = epsilon·w_i, and puts the shrunk values in place of u, n x columns with row length `ld`,
/// and what is left of the sums in place of `rest`.
void shrink_to_zero_sum(std::size_t n, std::size_t columns, std::size_t ld, const float* weight, float epsilon, float c,
                        float* u, double* rest);

}  // namespace parsnets
