#pragma once
// The SVR solver's state and its step, a sweep (see svr.hpp for the problem).
//
// Sweep: blocks of samples in a seeded order, each solved in cache (solve_block) and committed to Tβ by
//   matrix products. Between passes each output is extrapolated along its last step (Nesterov's sequence, damped;
//   Tβ is linear in β, so this is free) and falls back when its dual value drops. With a global bias, Σβ = 0 has a
//   multiplier that is fixed during a pass: the bias that is optimal for the current θ or, for outputs where that
//   failed to raise the dual value, the one of the method of multipliers (it moves along Σβ). The kernel's constant
//   part τ11ᵀ, which would tie all samples together, is taken out of the blocks' kernels. The last block restores Σβ =
//   0.
// Active set: once the sweeps have cost as much as solving the outputs by their active sets would (svr_active_set.hpp),
//   that is tried. Each output keeps the point with the smallest gap, and sweeps go on from there.

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "parsnets/threads.hpp"
#include "solvers/gated_kernel.hpp"
#include "solvers/svr.hpp"
#include "solvers/svr_active_set.hpp"

namespace parsnets {

/// The scalars of the state.
struct SvrCounters {
  std::int32_t pass = 0, fresh = 0;
  float tau = 0;
};

struct SvrState {
  SvrCounters counters;
  std::vector<std::uint32_t> output;      ///< the outputs being solved, ascending
  std::vector<double> primal, dual;       ///< of all outputs
  std::vector<float> bias, multiplier;    ///< of all outputs
  std::vector<std::uint8_t> ascending;    ///< of all outputs: the multiplier follows the method of multipliers
  std::vector<double> momentum;           ///< of all outputs
  Matrix<float> beta, previous_beta;      ///< N x outputs being solved
  Matrix<float> values, previous_values;  ///< the same of Tβ
  Matrix<float> result;                   ///< N x m in the caller's order: outputs that are done
  std::vector<SvrPass> passes;
};

class SvrEngine {
 public:
  /// `active_sets`: there is memory for them.
  SvrEngine(GatedKernel& kernel, MatrixView<const float> targets, const std::vector<std::size_t>& order,
            const SvrOptions& options, bool active_sets, ThreadPool& pool, ProgressObserver* progress);

  /// Bytes an engine holds for these sizes, beside the kernel.
  static double bytes_needed(std::size_t n, std::size_t m, std::size_t block);

  SvrState& state() { return s_; }
  /// Starts from β = start (N x m in the caller's order; clipped to the box and brought to Σβ = 0), or from 0.
  void begin(MatrixView<const float> start);
  /// Relative gap of the current point is within the tolerance.
  bool converged() const { return gap() <= options_.tolerance; }
  /// Some passes: a sweep, or the rounds of the active set.
  void advance();
  /// Makes the values of every output exact; false when the gap then turns out above the tolerance.
  bool certify();
  double gap() const;
  double total_primal() const;
  double total_dual() const;

 private:
  std::size_t active() const { return s_.output.size(); }
  MatrixView<float> view(Matrix<float>& m) { return {m.data(), order_.size(), active()}; }
  MatrixView<const float> view(const Matrix<float>& m) const { return {m.data(), order_.size(), active()}; }
  void sweep();
  bool active_set_pays() const;
  void try_active_set();
  void solve_active_set();
  void extrapolate();
  void visit(std::size_t block, bool last, std::vector<double>& sum, std::vector<double>& uncancelled);
  void accept(const std::vector<double>& uncancelled);
  std::vector<double> column_sums(const Matrix<float>& values) const;
  void restart_from_here();
  void multiply(const Matrix<float>& beta, Matrix<float>& values);
  void refresh();
  void evaluate();
  void evaluate_and_keep();
  void keep(std::size_t j);
  void copy_outputs(const std::vector<char>& which, const Matrix<float>& from, Matrix<float>& to);
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
  bool active_sets_;
  std::unique_ptr<SvrActiveSet> active_set_;  ///< made when it pays
  double tried_ = 0;                          ///< flops when the active set was last tried
  SvrState s_;
  Matrix<float> a_;  ///< targets of the outputs being solved, in block order
  Matrix<float> block_kernel_, gradient_, delta_;
  std::vector<double> primal_, dual_;  ///< of the outputs being solved, as just evaluated
  std::vector<float> bias_;            ///< of the outputs being solved, as just evaluated
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
