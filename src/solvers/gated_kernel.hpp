#pragma once
// The gated kernel T(x,x′) = (1 + zᵀz′)·|S(x) ∩ S(x′)| = Φ(x)ᵀΦ(x′), cut into blocks of samples: as panels T[:,B]
// that are stored, or made when asked for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/matrix_product.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

class GatedKernel {
 public:
  /// Samples are taken in `order` (a permutation) and cut into blocks of `block`; `form` is not automatic.
  /// Keeps its own copy of z and the gates; a stored kernel is computed here (cancellable by `progress`).
  GatedKernel(const GatedSamples& samples, const std::vector<std::size_t>& order, std::size_t block, SvrForm form,
              ThreadPool& pool, ProgressObserver* progress);

  /// Bytes an object holds for these sizes.
  static double bytes_needed(std::size_t n, std::size_t h, std::size_t networks, std::size_t block, SvrForm form);

  std::size_t samples() const { return n_; }
  std::size_t blocks() const { return (n_ + block_ - 1) / block_; }
  std::size_t begin(std::size_t b) const { return b * block_; }
  std::size_t size(std::size_t b) const { return std::min(block_, n_ - b * block_); }
  std::size_t block() const { return block_; }
  double diagonal(std::size_t i) const { return diagonal_[i]; }
  /// Mean of the entries of T.
  double mean() const { return mean_; }

  /// T_BB, n x n, into `out`.
  void diagonal_block(std::size_t b, float* out) const;
  /// T[:,B], N x n row-major; valid until the next call.
  const float* panel(std::size_t b);
  /// T, N x N, of a stored kernel.
  Matrix<float> whole() const;
  /// values += T[:,B]·delta; delta n x m, values N x m.
  void commit(std::size_t b, const float* delta, MatrixView<float> values);

  double flops() const { return flops_; }
  double bytes() const { return bytes_; }
  void count(double flops, double bytes) {
    flops_ += flops;
    bytes_ += bytes;
  }

 private:
  void tile(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns, float* out,
            float* scratch) const;
  void store(ProgressObserver* progress);
  float* stored(std::size_t b) { return panels_.data() + n_ * begin(b); }

  std::size_t n_, width_, networks_, block_;
  SvrForm form_;
  ThreadPool& pool_;
  Matrix<float> z_;      ///< N x (h+1), leading ones
  Matrix<float> gates_;  ///< N x K of 0 and 1
  Matrix<float> panels_;
  std::vector<float> diagonal_;
  double mean_ = 0, flops_ = 0, bytes_ = 0;
};

/// [1, z] of some samples, one per row.
template <class T = float>
Matrix<T> network_inputs(MatrixView<const float> z, std::span<const std::size_t> rows) {
  Matrix<T> inputs(rows.size(), z.cols() + 1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    inputs(r, 0) = 1;
    std::copy_n(z.row(rows[r]).data(), z.cols(), inputs.row(r).data() + 1);
  }
  return inputs;
}

/// Columns are shared out in pieces of this many: a function of their number alone.
std::size_t column_grain(std::size_t columns);

}  // namespace parsnets
