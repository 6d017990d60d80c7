#pragma once
// One block of the SVR dual, solved in cache for a range of outputs: with the block's kernel Q (n x n), the other
// samples fixed and g the gradient Tβ − a + b at the block's rows,
//   min_δ  ½δᵀQδ + gᵀδ + ε‖β+δ‖₁,   −C ≤ β+δ ≤ C
// by coordinate descent that takes one sample at a time for all outputs at once. Q may be T_BB − τ11ᵀ: where Σβ is
// held elsewhere (a global bias), taking the kernel's constant part out of Q lets samples move independently.

#include <cstddef>
#include <vector>

namespace parsnets {

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

/// Solves outputs first..last-1. `sum` (per output, may be null) gets Σδ added.
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

/// Finds per column j of `columns` the shift δ_j with Σ_i box_shrink(u_ij − δ_j·w_i, t_i, c) + offset_j = 0 (as near as
/// floats allow), where t_i = epsilon·w_i, and puts the shrunk values in place of u. n x columns with row length `ld`.
void shrink_to_zero_sum(std::size_t n, std::size_t columns, std::size_t ld, const float* weight, float epsilon, float c,
                        const double* offset, float* u, double* left);

}  // namespace parsnets
