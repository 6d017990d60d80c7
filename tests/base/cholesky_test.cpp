#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/linalg.hpp"
#include "base/random_matrix.hpp"
#include "parsnets/error.hpp"

namespace parsnets {
namespace {

using test::random_matrix;
using test::same_bits;

/// XᵀX/n of a random X with `rank` rows.
template <class T>
Matrix<T> gram(std::size_t n, std::size_t rank) {
  ThreadPool pool(1);
  const auto x = random_matrix<T>(rank, n, n);
  Matrix<T> a(n, n);
  multiply(pool, Trans::yes, x.view(), Trans::no, x.view(), a.view(), T(1) / static_cast<T>(n));
  return a;
}

/// (A + ridge·I)⁻¹·B by the unblocked factor, one entry after the other.
Matrix<double> solution_by_definition(const Matrix<double>& a, double ridge, const Matrix<double>& b) {
  const std::size_t n = a.rows();
  Matrix<double> l(n, n, 0.0), x = Matrix<double>::copy_of(b.view());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = a(i, j) + (i == j ? ridge : 0);
      for (std::size_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
      l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
    }
  for (std::size_t c = 0; c < b.cols(); ++c) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) x(i, c) -= l(i, k) * x(k, c);
      x(i, c) /= l(i, i);
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) x(i, c) -= l(k, i) * x(k, c);
      x(i, c) /= l(i, i);
    }
  }
  return x;
}

TEST(Cholesky, AgreesWithTheUnblockedFactorForAnyNumberOfThreads) {
  for (const std::size_t n : {1u, 60u, 127u, 128u, 129u, 256u, 411u})  // up to four panels
    for (const std::size_t m : {1u, 70u}) {
      const auto a = gram<double>(n, n / 2 + 1);
      const auto b = random_matrix<double>(n, m, 6);
      const auto expected = solution_by_definition(a, 0.7, b);
      Matrix<double> first = Matrix<double>::copy_of(b.view());
      ThreadPool caller(1);
      Cholesky(Matrix<double>::copy_of(a.view()), 0.7).solve(caller, first.view());
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(first.data()[i], expected.data()[i], 1e-12) << n;
      for (const unsigned threads : {2u, 5u}) {
        ThreadPool pool(threads);
        auto x = Matrix<double>::copy_of(b.view());
        Cholesky(pool, Matrix<double>::copy_of(a.view()), 0.7).solve(pool, x.view());
        EXPECT_TRUE(same_bits(first, x)) << n << ' ' << m << ' ' << threads;
      }
    }
}

TEST(Cholesky, RefusesMatricesThatAreNotPositiveDefiniteOrNotFinite) {
  EXPECT_THROW(Cholesky(gram<double>(10, 10), -1000), Error);
  EXPECT_THROW(Cholesky(Matrix<double>(3, 2, 0.0), 1), Error);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const std::size_t n : {3u, 200u, 400u}) {
      auto a = gram<double>(n, n);
      a(n - 2, n - 1) = a(n - 1, n - 2) = bad;
      EXPECT_THROW(Cholesky(std::move(a), 1), Error) << bad << ' ' << n;
    }
}

TEST(Cholesky, NamesThePivotThatFails) {
  ThreadPool pool(2);
  auto a = gram<double>(400, 400);
  a(300, 300) = -1;
  try {
    Cholesky(pool, std::move(a), 0.1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("pivot 301"), std::string::npos) << e.what();
  }
}

TEST(Cholesky, TheInverseIsSymmetricUndoesTheMatrixAndDoesNotDependOnThreads) {
  for (const std::size_t n : {1u, 70u, 300u}) {
    auto a = gram<float>(n, n);
    for (std::size_t i = 0; i < n; ++i) a(i, i) += 1;
    ThreadPool pool(1);
    const Matrix<float> inverse = inverse_of_positive(pool, Matrix<float>::copy_of(a.view()));
    Matrix<float> product(n, n);
    multiply(pool, Trans::no, a.view(), Trans::no, inverse.view(), product.view());
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < n; ++c) {
        ASSERT_NEAR(product(r, c), r == c ? 1 : 0, 1e-5);
        ASSERT_EQ(inverse(r, c), inverse(c, r));
      }
    for (const unsigned threads : {2u, 5u}) {
      ThreadPool more(threads);
      EXPECT_TRUE(same_bits(inverse, inverse_of_positive(more, Matrix<float>::copy_of(a.view()))));
    }
    a(n - 1, n - 1) = -1;
    EXPECT_THROW(inverse_of_positive(pool, std::move(a)), Error);
  }
}

}  // namespace
}  // namespace parsnets
