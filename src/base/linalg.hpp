#pragma once
// Dense linear algebra on the products of matrix_product.hpp; results are bitwise equal for any number of threads. All
// matrices are row-major. Where a pool can be left out, without one all is done in the calling thread.

#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/matrix_product.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// C = alpha·op(A)·op(B) + beta·C for T = float and double. Shapes must agree (a programming error otherwise: throws
/// Error(failure)).
template <class T>
void multiply(ThreadPool& pool, Trans trans_a, std::type_identity_t<MatrixView<const T>> a, Trans trans_b,
              std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c, std::type_identity_t<T> alpha = 1,
              std::type_identity_t<T> beta = 0);

/// op(A)·op(B) of matrices or views, in a matrix of its own.
template <class A, class B>
auto product(ThreadPool& pool, Trans trans_a, const A& a, Trans trans_b, const B& b) {
  using T = std::remove_cvref_t<decltype(*a.data())>;
  Matrix<T> c(trans_a == Trans::no ? a.rows() : a.cols(), trans_b == Trans::no ? b.cols() : b.rows());
  multiply(pool, trans_a, MatrixView<const T>(a.data(), a.rows(), a.cols()), trans_b,
           MatrixView<const T>(b.data(), b.rows(), b.cols()), c.view());
  return c;
}

/// The lower triangle of C = alpha·AᵀB + beta·C for a symmetric AᵀB, at half the cost; A and B are k x n, C is n x n.
/// What is above the diagonal of C is not defined afterwards.
template <class T>
void multiply_lower(ThreadPool& pool, std::type_identity_t<MatrixView<const T>> a,
                    std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c, std::type_identity_t<T> alpha = 1,
                    std::type_identity_t<T> beta = 0);

/// Σ a_i·b_i of equally long vectors, in double, in an order that depends on the length alone.
double dot(std::span<const float> a, std::span<const float> b);
/// The same of each row with b, some rows at a time, with the same bits.
void dots(MatrixView<const float> rows, std::span<const float> b, std::span<float> out);

/// XᵀX of an n x d matrix: d x d, symmetric to the bit.
Matrix<float> gram_of_columns(ThreadPool& pool, MatrixView<const float> x);

/// sum += factor·XᵀX of an n x d matrix: d x d, symmetric before and after, with the precision of add_gram_lower().
void add_gram_of_columns(ThreadPool& pool, MatrixView<const float> x, double factor, MatrixView<double> sum);

/// Cholesky factor of a symmetric positive definite n x n matrix plus `ridge` on its diagonal; T = float and double.
template <class T>
class Cholesky {
 public:
  /// Called between parts of the work; it may throw to end it.
  using Tick = std::function<void()>;

  /// Reads the lower triangle. Throws Error(failure) when the matrix is not positive definite (or not finite).
  Cholesky(ThreadPool& pool, Matrix<T> a, double ridge, const Tick& tick = {});
  /// The same in the calling thread.
  Cholesky(Matrix<T> a, double ridge);
  /// Solves (A + ridge·I)·X = B in place of B, n x m.
  void solve(ThreadPool& pool, MatrixView<T> b) const;
  /// (A + ridge·I)⁻¹, symmetric to the bit, in the memory of the factor; n³ flops.
  Matrix<T> inverse(ThreadPool& pool, const Tick& tick = {}) &&;

 private:
  /// Rows `begin` to `end` of B become those of L⁻¹B, or of L⁻ᵀB, less what the rows solved before account for.
  void solve_part(ThreadPool& pool, Trans trans, std::size_t begin, std::size_t end, MatrixView<T> b,
                  MatrixView<T> part) const;

  Matrix<T> factor_;    ///< its lower triangle
  Matrix<T> inverses_;  ///< of its blocks on the diagonal, one below the other
};

/// The lower triangle of the n x n matrix at `a` becomes L with A = LLᵀ, and `inverse` becomes L⁻¹ with zeros above its
/// diagonal; rows are `stride` and `width` values apart. In the calling thread, for small n. Returns 0, or the pivot
/// (from 1) that is not positive or not finite. What is above the diagonal of A is not defined afterwards.
template <class T>
std::size_t factorise_block(std::size_t n, T* a, std::size_t stride, T* inverse, std::size_t width);

/// Copies the lower triangle of a square matrix to the upper one.
template <class T>
void mirror_lower(ThreadPool& pool, MatrixView<T> a);

struct EigenPairs {
  std::vector<double> values;  ///< descending
  Matrix<double> vectors;  ///< count x n, row i belongs to values[i]; the sign makes each row's largest entry positive
};
/// The `count` largest eigenpairs of a symmetric n x n matrix (0: all). Throws Error(failure) for non-finite values.
EigenPairs largest_eigenpairs(MatrixView<const double> a, std::size_t count = 0, ThreadPool* pool = nullptr);
/// The eigenvalues alone, ascending, in a fraction of the time.
std::vector<double> eigenvalues(MatrixView<const double> a);

/// Flips the sign of each row whose entry of largest magnitude is negative: eigenvectors made comparable.
void make_largest_positive(MatrixView<double> rows);

/// Orthonormalises the rows of an r x n matrix in place, r <= n: what Gram-Schmidt would give, by Householder QR of the
/// transpose with R's diagonal made non-negative. Rows that depend on earlier ones become arbitrary orthonormal ones.
void orthonormalise_rows(MatrixView<double> a, ThreadPool* pool = nullptr);

/// Aᵀ.
template <class T>
Matrix<T> transposed(MatrixView<const T> a) {
  Matrix<T> out(a.cols(), a.rows());
  for (std::size_t r = 0; r < a.rows(); ++r)
    for (std::size_t c = 0; c < a.cols(); ++c) out(c, r) = a(r, c);
  return out;
}
template <class T>
Matrix<T> transposed(const Matrix<T>& a) {
  return transposed(a.view());
}

Matrix<double> to_double(MatrixView<const float> a);
Matrix<float> to_float(MatrixView<const double> a);

}  // namespace parsnets
