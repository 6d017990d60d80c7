#pragma once
// Cholesky factor of T + ρI in float, from the stored panels of the kernel, and solves with many right-hand sides.
// Our own because LAPACK's would run in one thread: here the panels are shared out over the pool, in the order and the
// pieces that the problem alone decides. Half of N² floats are held.

#include <cstddef>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"
#include "solvers/gated_kernel.hpp"

namespace parsnets {

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
  float rho_;
  ThreadPool& pool_;
  std::vector<std::size_t> offset_;  ///< of block column b, rows begin(b)..N
  Matrix<float> panels_;
  Matrix<float> inverse_;  ///< inverses of the diagonal blocks of L, block_ x block_ each
  std::vector<float> ones_;
  double ones_sum_ = 0;
};

}  // namespace parsnets
