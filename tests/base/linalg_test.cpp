#include "base/linalg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/random_matrix.hpp"
#include "expect.hpp"

namespace parsnets {

namespace {

using test::random_matrix;
using test::same_bits;

template <class T>
double at(const Matrix<T>& m, Trans trans, std::size_t r, std::size_t c) {
  return trans == Trans::no ? m(r, c) : m(c, r);
}

template <class T>
void compare_products(double tolerance) {
  ThreadPool pool(2);
  const std::size_t m = 301, n = 37, k = 53;  // more than two chunks of rows, none of them round
  for (const Trans ta : {Trans::no, Trans::yes})
    for (const Trans tb : {Trans::no, Trans::yes}) {
      const auto a = ta == Trans::no ? random_matrix<T>(m, k, 1) : random_matrix<T>(k, m, 1);
      const auto b = tb == Trans::no ? random_matrix<T>(k, n, 2) : random_matrix<T>(n, k, 2);
      const auto start = random_matrix<T>(m, n, 3);
      auto c = Matrix<T>::copy_of(start.view());
      multiply(pool, ta, a.view(), tb, b.view(), c.view(), T(0.5), T(-2));
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::size_t l = 0; l < k; ++l) sum += at(a, ta, i, l) * at(b, tb, l, j);
          ASSERT_NEAR(c(i, j), 0.5 * sum - 2 * start(i, j), tolerance) << i << ' ' << j;
        }
    }
}

/// Rows times rows: the identity for orthonormal rows.
double distance_from_orthonormal(const Matrix<double>& q) {
  double worst = 0;
  for (std::size_t i = 0; i < q.rows(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = i == j ? -1 : 0;
      for (std::size_t l = 0; l < q.cols(); ++l) sum += q(i, l) * q(j, l);
      worst = std::max(worst, std::abs(sum));
    }
  return worst;
}

/// Of columns i and j.
double product_of_columns(const Matrix<float>& x, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t r = 0; r < x.rows(); ++r) sum += static_cast<double>(x(r, i)) * x(r, j);
  return sum;
}

/// scale·XᵀX of a random X with `rank` rows.
template <class T = double>
Matrix<T> symmetric_of_rank(std::size_t n, std::size_t rank, std::uint64_t seed, T scale = 1) {
  ThreadPool pool(1);
  const auto x = random_matrix<T>(rank, n, seed);
  Matrix<T> a(n, n);
  multiply(pool, Trans::yes, x.view(), Trans::no, x.view(), a.view(), scale);
  return a;
}

void expect_eigenpairs(const Matrix<double>& a, const EigenPairs& pairs, std::size_t count) {
  ASSERT_EQ(pairs.values.size(), count);
  ASSERT_EQ(pairs.vectors.rows(), count);
  EXPECT_LT(distance_from_orthonormal(pairs.vectors), 1e-10);
  const double scale = std::max(1.0, pairs.values[0]);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) {
      EXPECT_LE(pairs.values[i], pairs.values[i - 1]);
    }
    double largest = 0;
    for (std::size_t r = 0; r < a.rows(); ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < a.cols(); ++c) sum += a(r, c) * pairs.vectors(i, c);
      ASSERT_NEAR(sum, pairs.values[i] * pairs.vectors(i, r), 1e-11 * scale) << "pair " << i;
      if (std::abs(pairs.vectors(i, r)) > std::abs(largest)) largest = pairs.vectors(i, r);
    }
    EXPECT_GT(largest, 0);
  }
}

template <class T>
Matrix<T> gram(std::size_t n, std::size_t rank) {
  return symmetric_of_rank<T>(n, rank, n, T(1) / static_cast<T>(n));
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

}  // namespace

TEST(Linalg, ProductsAgreeWithTheDefinitionForEveryTransposition) {
  compare_products<float>(2e-4);
  compare_products<double>(1e-12);
}

TEST(Linalg, ProductsDoNotDependOnTheNumberOfThreads) {
  const auto a = random_matrix<float>(700, 90, 1), b = random_matrix<float>(700, 333, 2);
  const auto products = [&](unsigned threads) {
    ThreadPool pool(threads);
    std::array<Matrix<float>, 3> out{Matrix<float>(90, 333), Matrix<float>(700, 700), gram_of_columns(pool, b.view())};
    multiply(pool, Trans::yes, a.view(), Trans::no, b.view(), out[0].view());
    multiply(pool, Trans::no, b.view(), Trans::yes, b.view(), out[1].view());
    return out;
  };
  const auto first = products(1);
  for (const unsigned threads : {2u, 3u, 8u})
    EXPECT_TRUE(std::ranges::equal(first, products(threads), same_bits<float>));
}

TEST(Linalg, ManyThreadsMultiplyAtTheSameTimeWithoutDisturbingEachOther) {
  ThreadPool pool(5);
  const auto a = random_matrix<float>(128, 40, 1), b = random_matrix<float>(60, 40, 2);
  const Matrix<float> expected = product(pool, Trans::no, a, Trans::yes, b);
  std::atomic<int> wrong{0};
  pool.parallel_for(5, 1, [&](std::size_t, std::size_t, std::size_t) {
    Matrix<float> c(128, 60);
    for (int repeat = 0; repeat < 20000; ++repeat) {
      multiply(pool, Trans::no, a.view(), Trans::yes, b.view(), c.view());
      if (!same_bits(c, expected)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0) << "of 100000 products";
}

TEST(Linalg, AZeroBetaIgnoresWhatWasThereBefore) {
  ThreadPool pool(2);
  const auto a = random_matrix<float>(200, 30, 1), b = random_matrix<float>(30, 20, 2);
  Matrix<float> c(200, 20, std::numeric_limits<float>::quiet_NaN()), expected(200, 20, 0.0f);
  multiply(pool, Trans::no, a.view(), Trans::no, b.view(), c.view());
  multiply(pool, Trans::no, a.view(), Trans::no, b.view(), expected.view());
  EXPECT_TRUE(same_bits(c, expected));
  const Matrix<float> none_a(200, 0), none_b(0, 20);  // an empty sum is zero
  multiply(pool, Trans::no, none_a.view(), Trans::no, none_b.view(), c.view());
  for (const float v : c.values()) ASSERT_EQ(v, 0);
}

TEST(Linalg, ShapesThatDoNotAgreeAndEigenvectorsOfANonFiniteMatrixAreRefused) {
  ThreadPool pool(1);
  const Matrix<float> a(4, 3, 0.0f), b(4, 3, 0.0f);
  Matrix<float> c(4, 3);
  EXPECT_THROW(multiply(pool, Trans::no, a.view(), Trans::no, b.view(), c.view()), Error);
  EXPECT_THROW(multiply(pool, Trans::no, a.view(), Trans::yes, b.view(), c.view()), Error);
  EXPECT_THROW(dot(a.row(0), a.values()), Error);
  Matrix<double> wide(3, 2, 0.0);
  EXPECT_THROW(orthonormalise_rows(wide.view()), Error);
  EXPECT_THROW(largest_eigenpairs(wide.view()), Error);
  auto not_finite = symmetric_of_rank(20, 20, 9);
  not_finite(3, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(largest_eigenpairs(not_finite.view(), 3), Error);
}

TEST(Linalg, TheGramMatrixIsSymmetricToTheBitAndRight) {
  ThreadPool pool(2);
  const auto x = random_matrix<float>(90, 291, 4);
  const auto gram = gram_of_columns(pool, x.view());
  for (std::size_t i = 0; i < 291; ++i)
    for (std::size_t j = 0; j < 291; ++j) {
      ASSERT_NEAR(gram(i, j), product_of_columns(x, i, j), 2e-4);
      ASSERT_EQ(gram(i, j), gram(j, i));
    }
}

TEST(Linalg, TheLowerTriangleOfAProductIsThatOfTheProduct) {
  const std::size_t k = 40, n = 291;
  const auto a = random_matrix<double>(k, n, 4);
  auto b = Matrix<double>::copy_of(a.view());
  for (std::size_t r = 0; r < k; ++r)
    for (double& v : b.row(r)) v *= static_cast<double>(r + 1);
  const auto start = symmetric_of_rank(n, 3, 5);
  auto expected = Matrix<double>::copy_of(start.view());
  ThreadPool one(1);
  multiply(one, Trans::yes, a.view(), Trans::no, b.view(), expected.view(), -0.5, 2);
  for (const unsigned threads : {1u, 3u}) {
    ThreadPool pool(threads);
    auto c = Matrix<double>::copy_of(start.view());
    multiply_lower(pool, a.view(), b.view(), c.view(), -0.5, 2);
    mirror_lower(pool, c.view());
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c.data()[i], expected.data()[i], 1e-10) << i;
  }
  Matrix<double> wide(n, n + 1, 0.0);
  EXPECT_THROW(multiply_lower(one, a.view(), b.view(), wide.view()), Error);
  EXPECT_THROW(mirror_lower(one, wide.view()), Error);
}

TEST(Linalg, GramMatricesAreAddedUpInDoubleForAnyNumberOfThreads) {
  const std::size_t d = 291;  // two rows of tiles
  const auto x = random_matrix<float>(90, d, 4);
  const auto start = symmetric_of_rank(d, 3, 5);
  Matrix<double> first;
  for (const unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    auto sum = Matrix<double>::copy_of(start.view());
    add_gram_of_columns(pool, x.view(), -2, sum.view());
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        ASSERT_NEAR(sum(i, j), start(i, j) - 2 * product_of_columns(x, i, j), 2e-4);
        ASSERT_EQ(sum(i, j), sum(j, i));
      }
    if (first.empty()) first = Matrix<double>::copy_of(sum.view());
    EXPECT_TRUE(same_bits(first, sum));
  }
  ThreadPool pool(1);
  Matrix<double> one(1, 1, 1e9);  // 1e9 + 1 has no float32
  add_gram_of_columns(pool, Matrix<float>(3, 1, 1.0f).view(), 1, one.view());
  EXPECT_EQ(one(0, 0), 1e9 + 3);
  Matrix<double> other(2, 2, 0.0);
  EXPECT_THROW(add_gram_of_columns(pool, x.view(), 1, other.view()), Error);
}

template <class T>
void compare_factors(double tolerance) {
  for (const std::size_t n : {1u, 12u, 13u, 100u}) {
    ThreadPool pool(1);
    const auto x = random_matrix<T>(2 * n, n, n);
    const Matrix<T> a = product(pool, Trans::yes, x, Trans::no, x);
    auto l = Matrix<T>::copy_of(a.view());
    Matrix<T> inverse(n, n);
    ASSERT_EQ(factorise_block(n, l.data(), n, inverse.data(), n), 0u);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) l(i, j) = 0;
    const Matrix<T> again = product(pool, Trans::no, l, Trans::yes, l),
                    one = product(pool, Trans::no, inverse, Trans::no, l);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        ASSERT_NEAR(again(i, j), a(i, j), tolerance * static_cast<double>(n));
        ASSERT_NEAR(one(i, j), i == j ? 1 : 0, tolerance * static_cast<double>(n));
        if (j > i) {
          ASSERT_EQ(inverse(i, j), 0);
        }
      }
    Matrix<T> bad = Matrix<T>::copy_of(a.view());
    bad(n - 1, n - 1) = -1;
    EXPECT_EQ(factorise_block(n, bad.data(), n, inverse.data(), n), n);
    bad = Matrix<T>::copy_of(a.view());
    bad(n / 2, n / 2) = std::numeric_limits<T>::quiet_NaN();
    EXPECT_EQ(factorise_block(n, bad.data(), n, inverse.data(), n), n / 2 + 1);
  }
}

TEST(Linalg, ABlockIsFactorisedAndItsFactorInverted) {
  compare_factors<float>(2e-4);
  compare_factors<double>(1e-12);
}

TEST(Linalg, DotSumsInDouble) {
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<float> a(n), b(n);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i + 1);
      b[i] = static_cast<float>(2 * i) - 5;
      expected += static_cast<double>(a[i]) * b[i];
    }
    EXPECT_EQ(dot(a, b), expected) << n;
  }
  EXPECT_EQ(dot(std::vector<float>{1e30f, 1}, std::vector<float>{1e30f, 0}), static_cast<double>(1e30f) * 1e30f);
}

TEST(Linalg, EigenpairsSatisfyTheirEquationWhetherAllOrAFew) {
  const auto a = symmetric_of_rank(90, 90, 7);
  const auto all = largest_eigenpairs(a.view());
  expect_eigenpairs(a, all, 90);
  for (const std::size_t count : {1u, 10u, 21u, 22u, 23u, 60u}) {
    const auto some = largest_eigenpairs(a.view(), count);
    expect_eigenpairs(a, some, count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(some.values[i], all.values[i], 1e-10 * all.values[0]);
  }
}

TEST(Linalg, EigenvectorsStayOrthonormalWhenEigenvaluesCoincide) {
  Matrix<double> identity(50, 50, 0.0), zero(50, 50, 0.0), one(1, 1, -3.0);
  for (std::size_t i = 0; i < 50; ++i) identity(i, i) = 1;
  for (const std::size_t count : {5u, 50u}) {
    expect_eigenpairs(identity, largest_eigenpairs(identity.view(), count), count);
    expect_eigenpairs(zero, largest_eigenpairs(zero.view(), count), count);
  }
  const auto deficient = symmetric_of_rank(200, 7, 8);  // 193 eigenvalues are zero
  expect_eigenpairs(deficient, largest_eigenpairs(deficient.view(), 40), 40);
  expect_eigenpairs(deficient, largest_eigenpairs(deficient.view(), 120), 120);
  expect_eigenpairs(one, largest_eigenpairs(one.view()), 1);
}

/// D + couplings beside it, in full.
Matrix<double> tridiagonal(const std::vector<double>& diagonal, double beside) {
  const std::size_t n = diagonal.size();
  Matrix<double> a(n, n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    a(i, i) = diagonal[i];
    if (i + 1 < n) a(i, i + 1) = a(i + 1, i) = beside;
  }
  return a;
}

TEST(Linalg, ValuesThatAlmostCoincideOrDifferByPowersOfTenKeepTheirVectorsApart) {
  std::vector<double> wilkinson(121), graded(130), glued(160);
  for (std::size_t i = 0; i < wilkinson.size(); ++i) wilkinson[i] = std::abs(60.0 - static_cast<double>(i));
  for (std::size_t i = 0; i < graded.size(); ++i) graded[i] = std::pow(10.0, -static_cast<double>(i) / 8);
  for (std::size_t i = 0; i < glued.size(); ++i) glued[i] = static_cast<double>(i % 20);
  for (const auto& [diagonal, beside] : {std::pair{wilkinson, 1.0}, {graded, 1e-9}, {glued, 1e-8}, {glued, 0.0}}) {
    const auto a = tridiagonal(diagonal, beside);
    for (const std::size_t count : {std::size_t{3}, diagonal.size()})
      expect_eigenpairs(a, largest_eigenpairs(a.view(), count), count);
  }
}

TEST(Linalg, MatricesWithoutFullRankOrOfManyScalesHaveTheirEigenpairsToo) {
  Rng rng(11);
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(rng.uniform() * static_cast<double>(bound));
  };
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t n = 2 + below(trial % 4 == 0 ? 100 : 34), kind = below(4);
    Matrix<double> a = symmetric_of_rank(n, kind == 0 ? n : 1 + below(n), static_cast<std::uint64_t>(trial));
    const double decades = 1 + 20 * rng.uniform();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const auto weight = [&](std::size_t at) {  // falling, rising, or none where zeros are
          if (kind == 1) return std::pow(10.0, -decades * static_cast<double>(at) / static_cast<double>(n));
          if (kind == 2) return std::pow(10.0, -decades * static_cast<double>(n - at) / static_cast<double>(n));
          return kind == 3 && at % 3 == 0 ? 0.0 : 1.0;
        };
        a(i, j) *= weight(i) * weight(j);
      }
    expect_eigenpairs(a, largest_eigenpairs(a.view()), n);
    EXPECT_NO_THROW(eigenvalues(a.view())) << trial;
  }
}

TEST(Linalg, EigenvaluesAreThoseOfThePairsAndOfAKnownMatrix) {
  for (const std::size_t n : {1u, 2u, 33u, 100u}) {
    const auto a = tridiagonal(std::vector<double>(n, 2.0), -1);  // 2 − 2·cos(kπ/(n + 1))
    const auto values = eigenvalues(a.view());
    const auto pairs = largest_eigenpairs(a.view());
    for (std::size_t k = 0; k < n; ++k) {
      const double known = 2 - 2 * std::cos(static_cast<double>(k + 1) * std::acos(-1.0) / static_cast<double>(n + 1));
      EXPECT_NEAR(values[k], known, 1e-13);
      EXPECT_NEAR(pairs.values[n - 1 - k], known, 1e-13);
    }
  }
  for (const double scale : {1e250, 1e-250}) {  // squares of these are no numbers
    auto a = symmetric_of_rank(40, 40, 3);
    const auto values = eigenvalues(a.view());
    for (double& v : a.values()) v *= scale;
    const auto scaled = eigenvalues(a.view());
    const auto pairs = largest_eigenpairs(a.view());
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_NEAR(scaled[i] / scale, values[i], 1e-12 * values.back());
      EXPECT_NEAR(pairs.values[39 - i] / scale, values[i], 1e-12 * values.back());
    }
    EXPECT_LT(distance_from_orthonormal(pairs.vectors), 1e-13);
  }
}

TEST(Linalg, DecompositionsDoNotDependOnTheNumberOfThreads) {
  const auto a = symmetric_of_rank(300, 280, 5);
  const auto rows = random_matrix<double>(100, 700, 6);
  const auto pairs = largest_eigenpairs(a.view(), 150);
  auto q = Matrix<double>::copy_of(rows.view());
  orthonormalise_rows(q.view());
  EXPECT_LT(distance_from_orthonormal(q), 1e-13);
  for (const unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    const auto again = largest_eigenpairs(a.view(), 150, &pool);
    EXPECT_EQ(again.values, pairs.values);
    EXPECT_TRUE(same_bits(again.vectors, pairs.vectors));
    auto other = Matrix<double>::copy_of(rows.view());
    orthonormalise_rows(other.view(), &pool);
    EXPECT_TRUE(same_bits(other, q));
  }
}

TEST(Linalg, OrthonormalisationIsThatOfGramSchmidt) {
  const auto a = random_matrix<double>(75, 140, 10);  // three blocks
  auto q = Matrix<double>::copy_of(a.view());
  orthonormalise_rows(q.view());
  EXPECT_LT(distance_from_orthonormal(q), 1e-14);
  std::vector<std::vector<double>> basis;
  for (std::size_t r = 0; r < a.rows(); ++r) {
    std::vector<double> v(a.row(r).begin(), a.row(r).end());
    for (int twice = 0; twice < 2; ++twice)
      for (const auto& b : basis) {
        double product = 0;
        for (std::size_t j = 0; j < v.size(); ++j) product += v[j] * b[j];
        for (std::size_t j = 0; j < v.size(); ++j) v[j] -= product * b[j];
      }
    double squares = 0;
    for (const double x : v) squares += x * x;
    for (double& x : v) x /= std::sqrt(squares);
    for (std::size_t j = 0; j < v.size(); ++j) ASSERT_NEAR(q(r, j), v[j], 1e-12);
    basis.push_back(v);
  }
}

TEST(Linalg, DependentRowsBecomeOrthonormalToo) {
  auto a = random_matrix<double>(20, 20, 11);
  for (std::size_t j = 0; j < 20; ++j) {
    a(5, j) = a(4, j);
    a(6, j) = 0;
  }
  orthonormalise_rows(a.view());
  EXPECT_LT(distance_from_orthonormal(a), 1e-13);
  Matrix<double> none(0, 5);
  orthonormalise_rows(none.view());
}

TEST(Linalg, DotsHaveTheBitsOfDot) {
  for (const std::size_t rows : {1u, 3u, 4u, 9u})
    for (const std::size_t columns : {1u, 7u, 8u, 31u, 312u}) {
      const auto a = random_matrix<float>(rows, columns, 21), b = random_matrix<float>(1, columns, 22);
      std::vector<float> found(rows);
      dots(a.view(), b.row(0), found);
      for (std::size_t r = 0; r < rows; ++r) EXPECT_EQ(found[r], static_cast<float>(dot(a.row(r), b.row(0))));
    }
}

TEST(Linalg, ConversionsKeepEveryValue) {
  const auto a = random_matrix<float>(7, 9, 12);
  EXPECT_TRUE(same_bits(to_float(to_double(a.view()).view()), a));
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

TEST(Cholesky, TheInverseIsSymmetricSolvesAndDoesNotDependOnThreads) {
  for (const std::size_t n : {1u, 95u, 96u, 400u, 1000u}) {
    const Matrix<double> a = gram<double>(n, 7);
    ThreadPool one(1), three(3);
    const Matrix<double> inverse = Cholesky(one, Matrix<double>::copy_of(a.view()), 0.7).inverse(one),
                         again = Cholesky(three, Matrix<double>::copy_of(a.view()), 0.7).inverse(three);
    EXPECT_TRUE(std::ranges::equal(inverse.values(), again.values())) << n;
    Matrix<double> sum = product(one, Trans::no, a, Trans::no, inverse);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        ASSERT_EQ(inverse(i, j), inverse(j, i));
        ASSERT_NEAR(sum(i, j) + 0.7 * inverse(i, j), i == j ? 1 : 0, 1e-8) << n << ' ' << i << ' ' << j;
      }
  }
}

TEST(Cholesky, MayBeEndedBetweenItsParts) {
  const Matrix<double> a = gram<double>(1000, 7);
  ThreadPool pool(2);
  int left = 1000, all = 0;
  const auto tick = [&] {
    ++all;
    if (left-- == 0) throw Error(ErrorCode::cancelled, "cancelled");
  };
  const auto inverse = [&] { return Cholesky(pool, Matrix<double>::copy_of(a.view()), 0.7, tick).inverse(pool, tick); };
  inverse();
  EXPECT_GT(all, 10);
  for (const int calls : {0, 5, all - 1}) {
    left = calls;
    EXPECT_THROW(inverse(), Error) << calls;
  }
}

TEST(Cholesky, RefusesMatricesThatAreNotPositiveDefiniteNamingThePivotOrNotFinite) {
  ThreadPool pool(2);
  auto negative = gram<double>(400, 400);
  negative(300, 300) = -1;
  test::expect_error([&] { Cholesky(pool, std::move(negative), 0.1); }, "pivot 301", ErrorCode::failure);
  EXPECT_THROW(Cholesky(gram<double>(10, 10), -1000), Error);
  EXPECT_THROW(Cholesky(Matrix<double>(3, 2, 0.0), 1), Error);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const std::size_t n : {3u, 200u, 400u}) {
      auto a = gram<double>(n, n);
      a(n - 2, n - 1) = a(n - 1, n - 2) = bad;
      EXPECT_THROW(Cholesky(std::move(a), 1), Error) << bad << ' ' << n;
    }
}

TEST(Cholesky, SolvesInSinglePrecisionAndDoesNotDependOnThreads) {
  for (const std::size_t n : {1u, 70u, 300u}) {
    auto a = gram<float>(n, n);
    for (std::size_t i = 0; i < n; ++i) a(i, i) += 1;
    ThreadPool pool(1);
    const Matrix<float> wanted = test::random_matrix<float>(n, 5, 3),
                        right = product(pool, Trans::no, a, Trans::no, wanted);
    const auto solved_by = [&](ThreadPool& some) {
      Matrix<float> x = Matrix<float>::copy_of(right.view());
      Cholesky(some, Matrix<float>::copy_of(a.view()), 0).solve(some, x.view());
      return x;
    };
    const Matrix<float> solved = solved_by(pool);
    for (std::size_t i = 0; i < solved.size(); ++i) ASSERT_NEAR(solved.data()[i], wanted.data()[i], 1e-4);
    for (const unsigned threads : {2u, 5u}) {
      ThreadPool more(threads);
      EXPECT_TRUE(same_bits(solved, solved_by(more)));
    }
    a(n - 1, n - 1) = -1;
    EXPECT_THROW(Cholesky(pool, std::move(a), 0), Error);
  }
}

}  // namespace parsnets
