extern "C" {
void dsyevr_(const char* jobz, const char* range, const char* uplo, const int* n, double* a, const int* lda,
             const double* vl, const double* vu, const int* il, const int* iu, const double* abstol, int* m, double* w,
             double* z, const int* ldz, int* isuppz, double* work, const int* lwork, int* iwork, const int* liwork,
             int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work,
             const int* lwork, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
}

#include "base/linalg.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

void check(bool agree, const char* what) {
  if (!agree) throw Error(ErrorCode::failure, fmt::format("internal error: shapes do not agree in {}", what));
}

void check_lapack(int info, const char* routine) {
  if (info != 0) throw Error(ErrorCode::failure, fmt::format("LAPACK's {} failed (info {})", routine, info));
}

/// The routine of BLAS or LAPACK for float or for double.
template <class T, class Single, class Double>
auto routine(Single single, Double twice) {
  if constexpr (std::is_same_v<T, float>)
    return single;
  else
    return twice;
}

/// C = alpha·op(A)·op(B) + beta·C, C being m x n.
template <class T>
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, std::size_t m, std::size_t n, std::size_t k,
          std::type_identity_t<T> alpha, const T* a, std::size_t lda, const T* b, std::size_t ldb,
          std::type_identity_t<T> beta, T* c, std::size_t ldc) {
  routine<T>(cblas_sgemm, cblas_dgemm)(CblasRowMajor, ta, tb, static_cast<int>(m), static_cast<int>(n),
                                       static_cast<int>(k), alpha, a, static_cast<int>(lda), b, static_cast<int>(ldb),
                                       beta, c, static_cast<int>(ldc));
}

}  // namespace

template <class T>
void multiply(ThreadPool& pool, Trans trans_a, std::type_identity_t<MatrixView<const T>> a, Trans trans_b,
              std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c, std::type_identity_t<T> alpha,
              std::type_identity_t<T> beta) {
  const std::size_t rows = trans_a == Trans::no ? a.rows() : a.cols(),
                    inner = trans_a == Trans::no ? a.cols() : a.rows();
  check(rows == c.rows() && inner == (trans_b == Trans::no ? b.rows() : b.cols()) &&
            c.cols() == (trans_b == Trans::no ? b.cols() : b.rows()),
        "multiply");
  if (c.empty()) return;
  const auto ta = trans_a == Trans::no ? CblasNoTrans : CblasTrans,
             tb = trans_b == Trans::no ? CblasNoTrans : CblasTrans;
  pool.parallel_for(rows, kMultiplyRows, [&](std::size_t begin, std::size_t end, std::size_t) {
    const T* part = trans_a == Trans::no ? a.data() + begin * a.cols() : a.data() + begin;
    gemm(ta, tb, end - begin, c.cols(), inner, alpha, part, std::max<std::size_t>(1, a.cols()), b.data(),
         std::max<std::size_t>(1, b.cols()), beta, c.data() + begin * c.cols(), c.cols());
  });
}

template void multiply(ThreadPool&, Trans, MatrixView<const float>, Trans, MatrixView<const float>, MatrixView<float>,
                       float, float);
template void multiply(ThreadPool&, Trans, MatrixView<const double>, Trans, MatrixView<const double>,
                       MatrixView<double>, double, double);

double dot(std::span<const float> a, std::span<const float> b) {
  check(a.size() == b.size(), "dot");
  constexpr std::size_t kLanes = 8;  // independent sums, which the compiler may keep in vector registers
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
  double sum = 0;
  for (; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Tile by tile: a column at a time would miss the cache at every step.
template <class T>
void mirror_lower(ThreadPool& pool, MatrixView<T> a) {
  check(a.rows() == a.cols(), "mirror_lower");
  constexpr std::size_t kTile = 64;
  const std::size_t n = a.rows(), tiles = ThreadPool::chunk_count(n, kTile);
  pool.parallel_for(tiles, 1, [&](std::size_t t, std::size_t, std::size_t) {
    const std::size_t begin = t * kTile, end = std::min(n, begin + kTile);
    for (std::size_t first = begin; first < n; first += kTile)
      for (std::size_t r = begin; r < end; ++r)
        for (std::size_t c = std::max(first, r + 1); c < std::min(n, first + kTile); ++c) a(r, c) = a(c, r);
  });
}
template void mirror_lower(ThreadPool&, MatrixView<float>);
template void mirror_lower(ThreadPool&, MatrixView<double>);

template <class T>
void multiply_lower(ThreadPool& pool, std::type_identity_t<MatrixView<const T>> a,
                    std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c, std::type_identity_t<T> alpha,
                    std::type_identity_t<T> beta) {
  const std::size_t d = c.rows();
  check(c.cols() == d && a.cols() == d && b.cols() == d && a.rows() == b.rows(), "multiply_lower");
  // Row panels of the triangle; the first panels are short, so the chunks are dealt out from the end.
  const std::size_t panels = ThreadPool::chunk_count(d, kMultiplyRows);
  pool.parallel_for(panels, 1, [&](std::size_t p, std::size_t, std::size_t) {
    const std::size_t begin = (panels - 1 - p) * kMultiplyRows, end = std::min(d, begin + kMultiplyRows);
    gemm(CblasTrans, CblasNoTrans, end - begin, end, a.rows(), alpha, a.data() + begin, d, b.data(), d, beta,
         c.data() + begin * d, d);
  });
}
template void multiply_lower(ThreadPool&, MatrixView<const double>, MatrixView<const double>, MatrixView<double>,
                             double, double);

Matrix<float> gram_of_columns(ThreadPool& pool, MatrixView<const float> x) {
  Matrix<float> gram(x.cols(), x.cols());
  multiply_lower(pool, x, x, gram.view());
  mirror_lower(pool, gram.view());
  return gram;
}

void add_gram_of_columns(ThreadPool& pool, MatrixView<const float> x, double factor, std::size_t block,
                         MatrixView<double> sum) {
  const std::size_t d = x.cols();
  check(sum.rows() == d && sum.cols() == d && block > 0, "add_gram_of_columns");
  constexpr std::size_t kTile = 256;  // a tile of products and its two operands stay in the cache of a core
  struct Tile {
    std::size_t row, col;
  };
  std::vector<Tile> tiles;
  for (std::size_t r = 0; r < d; r += kTile)
    for (std::size_t c = 0; c <= r; c += kTile) tiles.push_back({r, c});
  pool.parallel_for(tiles.size(), 1, [&](std::size_t t, std::size_t, std::size_t) {
    const auto [row, col] = tiles[t];
    const std::size_t rows = std::min(kTile, d - row), cols = std::min(kTile, d - col);
    Matrix<float> products(rows, cols);
    for (std::size_t first = 0; first < x.rows(); first += block) {
      const float* samples = x.data() + first * d;
      const std::size_t count = std::min(block, x.rows() - first);
      if (row == col)
        cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, static_cast<int>(rows), static_cast<int>(count), 1.0f,
                    samples + row, static_cast<int>(d), 0.0f, products.data(), static_cast<int>(cols));
      else
        gemm(CblasTrans, CblasNoTrans, rows, cols, count, 1, samples + row, d, samples + col, d, 0, products.data(),
             cols);
      for (std::size_t r = 0; r < rows; ++r) {
        double* to = sum.data() + (row + r) * d + col;
        const std::size_t last = row == col ? r + 1 : cols;
        for (std::size_t c = 0; c < last; ++c) to[c] += factor * products(r, c);
      }
    }
  });
  mirror_lower(pool, sum);
}

EigenPairs largest_eigenpairs(MatrixView<const double> a, std::size_t count) {
  check(a.rows() == a.cols() && count <= a.rows() && !a.empty(), "largest_eigenpairs");
  if (!std::all_of(a.data(), a.data() + a.size(), [](double v) { return std::isfinite(v); }))
    throw Error(ErrorCode::failure, "the matrix of an eigenvalue problem has non-finite values");
  if (count == 0) count = a.rows();
  use_serial_blas();
  Matrix<double> copy = Matrix<double>::copy_of(a);
  // dsyevr computes a subset by bisection and inverse iteration, which pays only for a small part of the spectrum.
  const bool subset = count < a.rows() / 4;
  const std::size_t computed = subset ? count : a.rows();
  const int n = static_cast<int>(a.rows()), low = n - static_cast<int>(computed) + 1;
  const double none = 0;
  int found = 0, info = 0, int_size = -1, size = -1, int_answer = 0;
  double answer = 0;
  std::vector<double> values(a.rows());
  Matrix<double> vectors(computed, a.rows());
  std::vector<int> support(2 * computed);
  const auto call = [&](double* work, int* int_work) {
    dsyevr_("V", subset ? "I" : "A", "U", &n, copy.data(), &n, &none, &none, &low, &n, &none, &found, values.data(),
            vectors.data(), &n, support.data(), work, &size, int_work, &int_size, &info);
    check_lapack(info, "dsyevr");
  };
  call(&answer, &int_answer);
  std::vector<double> work(static_cast<std::size_t>(size = static_cast<int>(answer)));
  std::vector<int> int_work(static_cast<std::size_t>(int_size = int_answer));
  call(work.data(), int_work.data());

  EigenPairs result;
  result.vectors = Matrix<double>(count, a.rows());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t source = computed - 1 - i;  // LAPACK's order is ascending
    result.values.push_back(values[source]);
    std::copy_n(vectors.row(source).begin(), a.rows(), result.vectors.row(i).begin());
  }
  make_largest_positive(result.vectors.view());
  return result;
}

void make_largest_positive(MatrixView<double> rows) {
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const auto row = rows.row(r);
    const auto largest =
        std::max_element(row.begin(), row.end(), [](double x, double y) { return std::abs(x) < std::abs(y); });
    if (largest != row.end() && *largest < 0)
      for (double& v : row) v = -v;
  }
}

void orthonormalise_rows(MatrixView<double> a) {
  check(a.rows() <= a.cols(), "orthonormalise_rows");
  if (a.empty()) return;
  use_serial_blas();
  const int n = static_cast<int>(a.cols()), k = static_cast<int>(a.rows());  // row-major r x n is column-major n x r
  std::vector<double> tau(a.rows());
  int info = 0, size = -1;
  double answer = 0;
  dgeqrf_(&n, &k, a.data(), &n, tau.data(), &answer, &size, &info);
  std::vector<double> work(static_cast<std::size_t>(size = std::max(static_cast<int>(answer), 64 * k)));
  dgeqrf_(&n, &k, a.data(), &n, tau.data(), work.data(), &size, &info);
  check_lapack(info, "dgeqrf");
  std::vector<bool> flip(a.rows());
  for (std::size_t r = 0; r < a.rows(); ++r) flip[r] = a(r, r) < 0;  // R's diagonal
  dorgqr_(&n, &k, &k, a.data(), &n, tau.data(), work.data(), &size, &info);
  check_lapack(info, "dorgqr");
  for (std::size_t r = 0; r < a.rows(); ++r)
    if (flip[r])
      for (double& v : a.row(r)) v = -v;
}

Matrix<double> to_double(MatrixView<const float> a) {
  Matrix<double> out(a.rows(), a.cols());
  std::copy(a.data(), a.data() + a.size(), out.data());
  return out;
}

Matrix<float> to_float(MatrixView<const double> a) {
  Matrix<float> out(a.rows(), a.cols());
  std::transform(a.data(), a.data() + a.size(), out.data(), [](double v) { return static_cast<float>(v); });
  return out;
}

// Cholesky factors by panels of kPanelColumns columns: all but the small blocks on the diagonal is matrix products,
// shared out over the pool. Matrices are row-major, L is the lower triangle; LAPACK reads it as the upper one of the
// transpose.
namespace {

constexpr std::size_t kPanelColumns = 128;

/// B = L⁻¹·B, L⁻ᵀ·B or (from the right) B·L⁻ᵀ with a lower triangle L; B is m x n.
template <class T>
void solve_triangle(CBLAS_SIDE side, CBLAS_TRANSPOSE trans, std::size_t m, std::size_t n, const T* l, std::size_t ldl,
                    T* b, std::size_t ldb) {
  routine<T>(cblas_strsm, cblas_dtrsm)(CblasRowMajor, side, CblasLower, trans, CblasNonUnit, static_cast<int>(m),
                                       static_cast<int>(n), 1, l, static_cast<int>(ldl), b, static_cast<int>(ldb));
}

/// The lower triangle of A becomes L with A = LLᵀ. Returns 0, or the pivot (from 1) that is not positive or not finite.
template <class T>
std::size_t factorise(ThreadPool& pool, MatrixView<T> a) {
  const std::size_t n = a.rows();
  T* l = a.data();
  for (std::size_t begin = 0; begin < n; begin += kPanelColumns) {
    const std::size_t width = std::min(kPanelColumns, n - begin), rest = begin + width;
    pool.parallel_for(n - begin, kPanelColumns, [&](std::size_t first, std::size_t last, std::size_t) {
      T* rows = l + (begin + first) * n;  // less what the panels to the left account for
      if (begin > 0)
        gemm(CblasNoTrans, CblasTrans, last - first, width, begin, -1, rows, n, l + begin * n, n, 1, rows + begin, n);
    });
    T* corner = l + begin * n + begin;
    const int size = static_cast<int>(width), stride = static_cast<int>(n);
    int info = 0;
    routine<T>(spotrf_, dpotrf_)("U", &size, corner, &stride, &info);
    if (info != 0) return begin + static_cast<std::size_t>(info);
    for (std::size_t i = 0; i < width; ++i)  // OpenBLAS lets a NaN pivot pass
      if (!std::isfinite(corner[i * n + i])) return begin + i + 1;
    pool.parallel_for(n - rest, kPanelColumns, [&](std::size_t first, std::size_t last, std::size_t) {
      solve_triangle(CblasRight, CblasTrans, last - first, width, corner, n, l + (rest + first) * n + begin, n);
    });
  }
  return 0;
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
  for (std::size_t begin = 0; begin < n; begin += kPanelColumns) {  // L·Y = B
    const std::size_t width = std::min(kPanelColumns, n - begin), rest = begin + width;
    solve_block(CblasNoTrans, begin, width);
    pool.parallel_for(n - rest, kPanelColumns, [&](std::size_t first, std::size_t last, std::size_t) {
      gemm(CblasNoTrans, CblasNoTrans, last - first, m, width, -1, l + (rest + first) * n + begin, n,
           b.data() + begin * m, m, 1, b.data() + (rest + first) * m, m);
    });
  }
  for (std::size_t panel = ThreadPool::chunk_count(n, kPanelColumns); panel-- > 0;) {  // Lᵀ·X = Y
    const std::size_t begin = panel * kPanelColumns, width = std::min(kPanelColumns, n - begin);
    solve_block(CblasTrans, begin, width);
    pool.parallel_for(begin, kPanelColumns, [&](std::size_t first, std::size_t last, std::size_t) {
      gemm(CblasTrans, CblasNoTrans, last - first, m, width, -1, l + begin * n + first, n, b.data() + begin * m, m, 1,
           b.data() + first * m, m);
    });
  }
}

Matrix<float> inverse_of_positive(ThreadPool& pool, Matrix<float> a) {
  check(a.rows() == a.cols(), "inverse_of_positive");
  const std::size_t n = a.rows(), panels = ThreadPool::chunk_count(n, kPanelColumns);
  if (const std::size_t pivot = factorise(pool, a.view()); pivot != 0)
    throw Error(ErrorCode::failure,
                fmt::format("a matrix is not positive definite (pivot {}); use a larger shrinkage", pivot));
  const float* l = a.data();
  Matrix<float> z(n, n, 0.0f);  // L⁻¹, a panel of columns at a time; the first are the longest
  pool.parallel_for(panels, 1, [&](std::size_t p, std::size_t, std::size_t) {
    const std::size_t left = p * kPanelColumns, columns = std::min(kPanelColumns, n - left);
    for (std::size_t i = left; i < left + columns; ++i) z(i, i) = 1;
    for (std::size_t begin = left; begin < n; begin += kPanelColumns) {
      const std::size_t width = std::min(kPanelColumns, n - begin);
      float* block = z.data() + begin * n + left;
      if (begin > left)
        gemm(CblasNoTrans, CblasNoTrans, width, columns, begin - left, -1, l + begin * n + left, n,
             z.data() + left * n + left, n, 1, block, n);
      solve_triangle(CblasLeft, CblasNoTrans, width, columns, l + begin * n + begin, n, block, n);
    }
  });
  pool.parallel_for(panels, 1, [&](std::size_t p, std::size_t, std::size_t) {  // L⁻ᵀ·L⁻¹
    const std::size_t begin = p * kPanelColumns, width = std::min(kPanelColumns, n - begin);
    gemm(CblasTrans, CblasNoTrans, width, begin + width, n - begin, 1, z.data() + begin * n + begin, n,
         z.data() + begin * n, n, 0, a.data() + begin * n, n);
  });
  mirror_lower(pool, a.view());
  if (!std::all_of(a.data(), a.data() + a.size(), [](float v) { return std::isfinite(v); }))
    throw Error(ErrorCode::failure, "a matrix to be inverted is not finite");
  return a;
}

}  // namespace parsnets
