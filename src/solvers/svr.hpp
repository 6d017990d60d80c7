#pragma once
// Multi-output epsilon-SVR on the shared gated kernel. For every output j = 1..m
//   primal  min_{θ,b}  ½‖θ‖² + C Σ_l max(0, |a_lj − θᵀΦ(x_l) − b| − ε),      Φ(x) = ξ(x) ⊗ [1, z]
//   dual    max_β  −½βᵀTβ + βᵀa_j − ε‖β‖₁   s.t.  −C ≤ β ≤ C,  Σβ = 0,        T(x,x′) = (1 + zᵀz′)·|S(x) ∩ S(x′)|
// (Σβ = 0 falls away without a global bias.) All m outputs are solved together on the same T.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

enum class SvrForm { automatic, stored_kernel, recomputed_kernel };

struct SvrOptions {
  double c = 1.0;           ///< box bound C > 0
  double epsilon = 0.0;     ///< half-width of the tube, >= 0, in units of the targets
  bool global_bias = true;  ///< unregularised b_j
  double tolerance = 1e-3;  ///< stop at this relative duality gap, summed over the outputs
  int max_passes = 1000;
  int block = 0;                      ///< samples solved together in cache, at least 16; 0: 64
  SvrForm form = SvrForm::automatic;  ///< automatic: stored up to 8 GB, if it fits memory_limit
  std::uint64_t memory_limit = 0;     ///< bytes the solver may hold beside its inputs; 0 = no limit
  std::uint64_t seed = 1;
};

/// The samples as the gated kernel sees them. Nothing is owned.
struct GatedSamples {
  MatrixView<const float> z;             ///< N x h
  MatrixView<const std::uint16_t> open;  ///< N x k, the active networks of each sample, ascending
  std::size_t networks = 0;              ///< K
};

/// Throws bad_input where shapes, gates or values of the samples are impossible.
void check_samples(const GatedSamples& samples);

struct SvrPass {
  int pass = 0;
  double primal = 0, dual = 0;  ///< summed over outputs; primal - dual bounds the suboptimality of both
  double relative_gap = 0;      ///< (primal - dual) / max(primal, tiny)
  int active_outputs = 0;       ///< outputs not yet shrunk away
  double seconds = 0;
};

struct SvrResult {
  Matrix<float> beta;       ///< N x m, dual feasible (|β| ≤ C and, with a bias, Σβ = 0 up to rounding)
  std::vector<float> bias;  ///< m, optimal for the given θ; zeros without a global bias
  double primal = 0, dual = 0, relative_gap = 0;
  bool converged = false;
  std::vector<SvrPass> passes;
  SvrForm form = SvrForm::automatic;  ///< the one used
  double flops = 0, bytes = 0;        ///< of the hot loops, counted
};

/// Solves for targets N x m (row l = semantics of the class of sample l). `start` (N x m, may be empty) warm-starts β.
/// Values are computed in float and summed in double: the bounds hold up to about 1e-6 of them, less exactly where C is
/// so large that |T||β| exceeds the targets a thousandfold; a tolerance below 1e-5 may not be reached.
/// Throws usage for a memory limit that is too low, bad_input for impossible gates or non-finite values, cancelled by
/// `progress`.
SvrResult solve_svr(const GatedSamples& samples, MatrixView<const float> targets, const SvrOptions& options,
                    ThreadPool& pool, ProgressObserver* progress = nullptr, MatrixView<const float> start = {});

/// Θ as (K·(h+1)) x m: row i·(h+1) is network i's bias, rows i·(h+1)+1.. its weights. Θ = Σ_l β_l Φ(x_l).
Matrix<float> networks_from_dual(const GatedSamples& samples, MatrixView<const float> beta, ThreadPool& pool);

struct SvrValues {
  std::span<double> primal, dual;  ///< per output
  std::span<float> bias;           ///< per output; zeros without a global bias
};

/// Primal and dual objective of each output for given β and f = Tβ, in double, and the bias that is optimal for f.
/// targets, f, beta: N x m. β must be feasible for `dual` to be a lower bound of the optimum.
void evaluate_svr(ThreadPool& pool, MatrixView<const float> targets, MatrixView<const float> f,
                  MatrixView<const float> beta, double c, double epsilon, bool global_bias, const SvrValues& out);

}  // namespace parsnets
