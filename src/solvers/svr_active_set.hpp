#pragma once
// The SVR dual by its active set (svr.hpp has the problem), for outputs whose β are mostly free, that is, neither 0 nor
// ±C. With s the signs of the free β, the solution of an output fulfils
//   (Tβ)_i + b = a_i − ε·s_i  where β_i is free,   β_i = 0 or ±C elsewhere (A),   Σβ = 0 with a global bias.
// All outputs share G = T⁻¹: from a point β the step there is δ = G·q, where q is the residual of these equations on
// the free samples, and G_AA·q_A = δ_A − (G·q)_A of the others, a system as small as A. A round takes the step; a β
// that it carries past 0 or ±C stays there, and one whose residual contradicts its place becomes free: Newton's method
// on the optimality conditions. A few rounds end where hundreds of sweeps of coordinate descent do. A round costs
// 6·N²·m + Σ_j |A_j|³/3 flops, G once N³.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"
#include "solvers/gated_kernel.hpp"

namespace parsnets {

class SvrActiveSet {
 public:
  /// Inverts the kernel, which is stored. Throws Error(failure) if it is not positive definite, and what `tick` throws,
  /// which is called now and then.
  SvrActiveSet(GatedKernel& kernel, ThreadPool& pool, const std::function<void()>& tick);

  /// Bytes an object holds, with what a round needs.
  static double bytes_needed(std::size_t n, std::size_t m);
  /// Flops of some rounds from β (N x m), without the inverse; infinite where too few β are free.
  static double flops(MatrixView<const float> beta, double c, int rounds);

  /// The samples' places at β, with f = Tβ and a bias for each output. Everything is N x m.
  void begin(MatrixView<const float> targets, MatrixView<const float> beta, MatrixView<const float> f,
             std::vector<float> bias, double c, double epsilon, bool global_bias);
  /// One round from β with f = Tβ. Returns for each output whether the new β is feasible. Throws Error(failure), and
  /// leaves β, where equations cannot be solved at this precision.
  std::vector<char> round(MatrixView<const float> targets, MatrixView<float> beta, MatrixView<const float> f);
  /// No sample changed its place in the last round.
  bool settled() const { return settled_; }

 private:
  void solve(std::size_t j, MatrixView<const float> beta, MatrixView<float> q, MatrixView<const float> step);

  ThreadPool& pool_;
  Matrix<float> inverse_;
  std::vector<float> row_sums_;  ///< of the inverse
  double row_sum_ = 0;           ///< of all of it
  float c_ = 0, epsilon_ = 0, rounding_ = 0;
  bool global_bias_ = false, settled_ = false;
  Matrix<std::int8_t> place_;  ///< N x m: 0, ±1 free with that sign, ±2 at the bound
  std::vector<float> bias_;
};

}  // namespace parsnets
