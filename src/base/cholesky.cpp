// Cholesky factors by panels of kPanel columns: all but the small blocks on the diagonal is matrix products, shared out
// over the pool. Matrices are row-major, L is the lower triangle; LAPACK reads it as the upper one of the transpose.

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
}

namespace parsnets {

namespace {

constexpr std::size_t kPanel = 128;

int potrf(int n, float* a, int lda) {
  int info = 0;
  spotrf_("U", &n, a, &lda, &info);
  return info;
}
int potrf(int n, double* a, int lda) {
  int info = 0;
  dpotrf_("U", &n, a, &lda, &info);
  return info;
}

/// C −= A·op(B)
void subtract_product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, std::size_t m, std::size_t n, std::size_t k,
                      const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), -1, a,
              static_cast<int>(lda), b, static_cast<int>(ldb), 1, c, static_cast<int>(ldc));
}
void subtract_product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, std::size_t m, std::size_t n, std::size_t k,
                      const double* a, std::size_t lda, const double* b, std::size_t ldb, double* c, std::size_t ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), -1, a,
              static_cast<int>(lda), b, static_cast<int>(ldb), 1, c, static_cast<int>(ldc));
}

/// B = L⁻¹·B, L⁻ᵀ·B or (from the right) B·L⁻ᵀ with a lower triangle L; B is m x n.
void solve_triangle(CBLAS_SIDE side, CBLAS_TRANSPOSE trans, std::size_t m, std::size_t n, const float* l,
                    std::size_t ldl, float* b, std::size_t ldb) {
  cblas_strsm(CblasRowMajor, side, CblasLower, trans, CblasNonUnit, static_cast<int>(m), static_cast<int>(n), 1, l,
              static_cast<int>(ldl), b, static_cast<int>(ldb));
}
void solve_triangle(CBLAS_SIDE side, CBLAS_TRANSPOSE trans, std::size_t m, std::size_t n, const double* l,
                    std::size_t ldl, double* b, std::size_t ldb) {
  cblas_dtrsm(CblasRowMajor, side, CblasLower, trans, CblasNonUnit, static_cast<int>(m), static_cast<int>(n), 1, l,
              static_cast<int>(ldl), b, static_cast<int>(ldb));
}

/// The lower triangle of A becomes L with A = LLᵀ. Returns 0, or the pivot (from 1) that is not positive or not finite.
template <class T>
std::size_t factorise(ThreadPool& pool, MatrixView<T> a) {
  const std::size_t n = a.rows();
  T* l = a.data();
  for (std::size_t begin = 0; begin < n; begin += kPanel) {
    const std::size_t width = std::min(kPanel, n - begin), rest = begin + width;
    pool.parallel_for(n - begin, kPanel, [&](std::size_t first, std::size_t last, std::size_t) {
      T* rows = l + (begin + first) * n;  // less what the panels to the left account for
      if (begin > 0)
        subtract_product(CblasNoTrans, CblasTrans, last - first, width, begin, rows, n, l + begin * n, n, rows + begin,
                         n);
    });
    T* corner = l + begin * n + begin;
    if (const int info = potrf(static_cast<int>(width), corner, static_cast<int>(n)); info != 0)
      return begin + static_cast<std::size_t>(info);
    for (std::size_t i = 0; i < width; ++i)  // OpenBLAS lets a NaN pivot pass
      if (!std::isfinite(corner[i * n + i])) return begin + i + 1;
    pool.parallel_for(n - rest, kPanel, [&](std::size_t first, std::size_t last, std::size_t) {
      solve_triangle(CblasRight, CblasTrans, last - first, width, corner, n, l + (rest + first) * n + begin, n);
    });
  }
  return 0;
}

void check(bool agree, const char* what) {
  if (!agree) throw Error(ErrorCode::failure, fmt::format("internal error: shapes do not agree in {}", what));
}

}  // namespace

Cholesky::Cholesky(ThreadPool& pool, Matrix<double> a, double ridge) : factor_(std::move(a)) {
  check(factor_.rows() == factor_.cols(), "Cholesky");
  for (std::size_t i = 0; i < factor_.rows(); ++i) factor_(i, i) += ridge;
  if (const std::size_t pivot = factorise(pool, factor_.view()); pivot != 0)
    throw Error(ErrorCode::failure, fmt::format("a matrix is not positive definite (pivot {}); use a larger {}", pivot,
                                                option_name("lambda")));
}

Cholesky::Cholesky(Matrix<double> a, double ridge) {
  ThreadPool caller(1);
  *this = Cholesky(caller, std::move(a), ridge);
}

void Cholesky::solve(ThreadPool& pool, MatrixView<double> b) const {
  check(b.rows() == factor_.rows(), "Cholesky::solve");
  constexpr std::size_t kColumns = 32;
  const std::size_t n = b.rows(), m = b.cols();
  if (b.empty()) return;
  const double* l = factor_.data();
  const auto solve_block = [&](CBLAS_TRANSPOSE trans, std::size_t begin, std::size_t width) {
    pool.parallel_for(m, kColumns, [&](std::size_t first, std::size_t last, std::size_t) {
      solve_triangle(CblasLeft, trans, width, last - first, l + begin * n + begin, n, b.data() + begin * m + first, m);
    });
  };
  for (std::size_t begin = 0; begin < n; begin += kPanel) {  // L·Y = B
    const std::size_t width = std::min(kPanel, n - begin), rest = begin + width;
    solve_block(CblasNoTrans, begin, width);
    pool.parallel_for(n - rest, kPanel, [&](std::size_t first, std::size_t last, std::size_t) {
      subtract_product(CblasNoTrans, CblasNoTrans, last - first, m, width, l + (rest + first) * n + begin, n,
                       b.data() + begin * m, m, b.data() + (rest + first) * m, m);
    });
  }
  for (std::size_t panel = ThreadPool::chunk_count(n, kPanel); panel-- > 0;) {  // Lᵀ·X = Y
    const std::size_t begin = panel * kPanel, width = std::min(kPanel, n - begin);
    solve_block(CblasTrans, begin, width);
    pool.parallel_for(begin, kPanel, [&](std::size_t first, std::size_t last, std::size_t) {
      subtract_product(CblasTrans, CblasNoTrans, last - first, m, width, l + begin * n + first, n, b.data() + begin * m,
                       m, b.data() + first * m, m);
    });
  }
}

Matrix<float> inverse_of_positive(ThreadPool& pool, Matrix<float> a) {
  check(a.rows() == a.cols(), "inverse_of_positive");
  const std::size_t n = a.rows(), panels = ThreadPool::chunk_count(n, kPanel);
  if (const std::size_t pivot = factorise(pool, a.view()); pivot != 0)
    throw Error(ErrorCode::failure,
                fmt::format("a matrix is not positive definite (pivot {}); use a larger shrinkage", pivot));
  const float* l = a.data();
  Matrix<float> z(n, n, 0.0f);  // L⁻¹, a panel of columns at a time; the first are the longest
  pool.parallel_for(panels, 1, [&](std::size_t p, std::size_t, std::size_t) {
    const std::size_t left = p * kPanel, columns = std::min(kPanel, n - left);
    for (std::size_t i = left; i < left + columns; ++i) z(i, i) = 1;
    for (std::size_t begin = left; begin < n; begin += kPanel) {
      const std::size_t width = std::min(kPanel, n - begin);
      float* block = z.data() + begin * n + left;
      if (begin > left)
        subtract_product(CblasNoTrans, CblasNoTrans, width, columns, begin - left, l + begin * n + left, n,
                         z.data() + left * n + left, n, block, n);
      solve_triangle(CblasLeft, CblasNoTrans, width, columns, l + begin * n + begin, n, block, n);
    }
  });
  pool.parallel_for(panels, 1, [&](std::size_t p, std::size_t, std::size_t) {  // L⁻ᵀ·L⁻¹
    const std::size_t begin = p * kPanel, width = std::min(kPanel, n - begin);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<int>(width), static_cast<int>(begin + width),
                static_cast<int>(n - begin), 1, z.data() + begin * n + begin, static_cast<int>(n), z.data() + begin * n,
                static_cast<int>(n), 0, a.data() + begin * n, static_cast<int>(n));
  });
  mirror_lower(pool, a.view());
  if (!std::all_of(a.data(), a.data() + a.size(), [](float v) { return std::isfinite(v); }))
    throw Error(ErrorCode::failure, "a matrix to be inverted is not finite");
  return a;
}

}  // namespace parsnets
