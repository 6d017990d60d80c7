#include "solvers/svr_factor.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parsnets/error.hpp"

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void strtri_(const char* uplo, const char* diag, const int* n, float* a, const int* lda, int* info);
}

namespace parsnets {

namespace {

constexpr std::size_t kRowGrain = 256;

int to_int(std::size_t v) { return static_cast<int>(v); }

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, std::size_t m, std::size_t n, std::size_t k, float alpha,
          const float* a, std::size_t lda, const float* b, std::size_t ldb, float beta, float* c, std::size_t ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, to_int(m), to_int(n), to_int(k), alpha, a, to_int(lda), b, to_int(ldb), beta, c,
              to_int(ldc));
}

}  // namespace

double ShiftedFactor::bytes_needed(std::size_t n, std::size_t block) {
  const double rows = static_cast<double>(n), columns = static_cast<double>(block);
  return 4 * (rows * (rows + columns) / 2 + rows * 2 * columns + rows);
}

ShiftedFactor::ShiftedFactor(GatedKernel& kernel, float rho, ThreadPool& pool, ProgressObserver* progress)
    : n_(kernel.samples()), block_(kernel.block()), blocks_(kernel.blocks()), rho_(rho), pool_(pool) {
  std::size_t total = 0;
  for (std::size_t b = 0; b < blocks_; ++b) {
    offset_.push_back(total);
    total += (n_ - begin(b)) * size(b);
  }
  panels_ = Matrix<float>(1, total);
  inverse_ = Matrix<float>(blocks_, block_ * block_);
  pool_.parallel_for(blocks_, 1, [&](std::size_t b, std::size_t, std::size_t) {
    const std::size_t n = size(b);
    std::memcpy(panel(b), kernel.panel(b) + begin(b) * n, (n_ - begin(b)) * n * sizeof(float));
    for (std::size_t i = 0; i < n; ++i) panel(b)[i * n + i] += rho_;
  });
  for (std::size_t k = 0; k < blocks_; ++k) {
    report(progress, {"factor", k, blocks_, "blocks"});
    eliminate(k);
  }
  const double rows = static_cast<double>(n_);
  kernel.count(rows * rows * rows / 3, 4 * rows * rows * static_cast<double>(blocks_) / 3);
  ones_.assign(n_, 1.0f);
  solve({ones_.data(), n_, 1});
  for (float v : ones_) ones_sum_ += v;
}

// Column k is complete but for its own elimination: A_kk = LLᵀ, L_rk = A_rk·L_kk⁻ᵀ, then A_rc −= L_rk·L_ckᵀ for c > k.
void ShiftedFactor::eliminate(std::size_t k) {
  const std::size_t n = size(k), rest = n_ - begin(k) - n;
  float *diagonal = panel(k), *below = panel(k) + n * n, *inverse = inverse_.data() + k * block_ * block_;
  const int order = to_int(n);
  int info = 0;
  spotrf_("U", &order, diagonal, &order, &info);  // LAPACK's upper triangle is our lower one
  for (std::size_t i = 0; info == 0 && i < n; ++i)
    if (!std::isfinite(diagonal[i * n + i])) info = 1;
  if (info != 0) throw Error(ErrorCode::failure, "the kernel is not positive definite in float");
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(diagonal + i * n, i + 1, inverse + i * n);
    std::fill(inverse + i * n + i + 1, inverse + (i + 1) * n, 0.0f);
  }
  strtri_("U", "N", &order, inverse, &order, &info);
  pool_.parallel_for(rest, kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
    Matrix<float> rows(last - first, n);
    std::copy_n(below + first * n, rows.size(), rows.data());
    gemm(CblasNoTrans, CblasTrans, last - first, n, n, 1, rows.data(), n, inverse, n, 0, below + first * n, n);
  });
  const std::size_t columns = blocks_ - k - 1;  // tiles (r, c), k < c <= r
  pool_.parallel_for(columns * (columns + 1) / 2, 1, [&](std::size_t index, std::size_t, std::size_t) {
    std::size_t r = 0, c = index;
    while (c > r) c -= ++r;
    r += k + 1;
    c += k + 1;
    const float *left = below + (begin(r) - begin(k) - n) * n, *right = below + (begin(c) - begin(k) - n) * n;
    gemm(CblasNoTrans, CblasTrans, size(r), size(c), n, -1, left, n, right, n, 1,
         panel(c) + (begin(r) - begin(c)) * size(c), size(c));
  });
}

void ShiftedFactor::solve(MatrixView<float> b) const {
  const std::size_t m = b.cols(), grain = column_grain(m);
  Matrix<float> part(block_, m);
  const auto row = [&](std::size_t i) { return b.data() + i * m; };
  for (std::size_t k = 0; k < blocks_; ++k) {  // L·Y = B
    const std::size_t n = size(k), next = begin(k) + n;
    const float* inverse = inverse_.data() + k * block_ * block_;
    pool_.parallel_for(m, grain, [&](std::size_t first, std::size_t last, std::size_t) {
      gemm(CblasNoTrans, CblasNoTrans, n, last - first, n, 1, inverse, n, row(begin(k)) + first, m, 0,
           part.data() + first, m);
    });
    std::copy_n(part.data(), n * m, row(begin(k)));
    pool_.parallel_for(n_ - next, 2 * kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
      gemm(CblasNoTrans, CblasNoTrans, last - first, m, n, -1, panel(k) + (n + first) * n, n, part.data(), m, 1,
           row(next + first), m);
    });
  }
  for (std::size_t k = blocks_; k-- > 0;) {  // Lᵀ·X = Y
    const std::size_t n = size(k), next = begin(k) + n;
    const float* inverse = inverse_.data() + k * block_ * block_;
    pool_.parallel_for(m, 2 * grain, [&](std::size_t first, std::size_t last, std::size_t) {
      const std::size_t w = last - first;
      if (next < n_)
        gemm(CblasTrans, CblasNoTrans, n, w, n_ - next, -1, panel(k) + n * n, n, row(next) + first, m, 1,
             row(begin(k)) + first, m);
      gemm(CblasTrans, CblasNoTrans, n, w, n, 1, inverse, n, row(begin(k)) + first, m, 0, part.data() + first, m);
      for (std::size_t i = 0; i < n; ++i) std::copy_n(part.data() + i * m + first, w, row(begin(k) + i) + first);
    });
  }
}

}  // namespace parsnets
