#include "base/matrix_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "base/random_matrix.hpp"
#include "base/simd_levels.hpp"

namespace parsnets {
namespace {

using test::random_matrix;

/// alpha·op(A)·op(B) + beta·C with parts of wider matrices as factors and result.
template <class T>
Matrix<T> multiplied(std::size_t m, std::size_t n, std::size_t k, Trans ta, Trans tb, T alpha, T beta, Part part,
                     Simd simd, ThreadPool* pool) {
  const std::size_t wide_a = (ta == Trans::no ? k : m) + 3, wide_b = (tb == Trans::no ? n : k) + 5;
  const auto a = random_matrix<T>(ta == Trans::no ? m : k, wide_a, 1),
             b = random_matrix<T>(tb == Trans::no ? k : n, wide_b, 2);
  auto c = random_matrix<T>(m, n + 2, 3);
  multiply_blocks<T>(pool, m, n, k, alpha, {a.data(), wide_a, ta}, {b.data(), wide_b, tb}, beta, c.data(), n + 2, part,
                     simd);
  return c;
}

template <class T>
void compare_with_the_definition(double tolerance) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {9, 49, 3}, {8, 48, 384}, {97, 50, 385}, {13, 200, 800}})
    for (const Trans ta : {Trans::no, Trans::yes})
      for (const Trans tb : {Trans::no, Trans::yes})
        for (const Simd simd : test::simd_levels()) {
          const auto M = static_cast<std::size_t>(m), N = static_cast<std::size_t>(n), K = static_cast<std::size_t>(k);
          const auto a = random_matrix<T>(ta == Trans::no ? M : K, (ta == Trans::no ? K : M) + 3, 1),
                     b = random_matrix<T>(tb == Trans::no ? K : N, (tb == Trans::no ? N : K) + 5, 2),
                     start = random_matrix<T>(M, N + 2, 3);
          const auto c = multiplied<T>(M, N, K, ta, tb, T(-0.5), T(2), Part::all, simd, nullptr);
          for (std::size_t i = 0; i < M; ++i) {
            for (std::size_t j = 0; j < N; ++j) {
              double sum = 0;
              for (std::size_t l = 0; l < K; ++l)
                sum += static_cast<double>(ta == Trans::no ? a(i, l) : a(l, i)) * (tb == Trans::no ? b(l, j) : b(j, l));
              ASSERT_NEAR(c(i, j), 2 * start(i, j) - 0.5 * sum, tolerance * std::sqrt(K))
                  << m << n << k << simd_name(simd);
            }
            for (std::size_t j = N; j < N + 2; ++j) ASSERT_EQ(c(i, j), start(i, j)) << "beside the result";
          }
        }
}

TEST(MatrixProduct, AgreesWithTheDefinitionOnEveryInstructionSet) {
  compare_with_the_definition<float>(1e-4);
  compare_with_the_definition<double>(1e-12);
}

// The slow and obvious form: on processors that fuse, products have its bits.
template <class T>
void compare_with_a_chain() {
  if (std::string(simd_name(best_simd())) == "SSE2") GTEST_SKIP() << "without fused multiply-adds";
  const std::size_t m = 21, n = 67, k = 801;
  const auto a = random_matrix<T>(m, k, 1), b = random_matrix<T>(n, k, 2);
  Matrix<T> c(m, n);
  gemm(Trans::no, Trans::yes, m, n, k, 1, a.data(), k, b.data(), k, 0, c.data(), n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum = std::fma(a(i, l), b(j, l), sum);
      ASSERT_EQ(c(i, j), sum);
    }
}

TEST(MatrixProduct, EachValueIsAChainOfFusedMultiplyAdds) {
  compare_with_a_chain<float>();
  compare_with_a_chain<double>();
}

template <class T>
void compare_bits() {
  ThreadPool three(3);
  const auto with = [&](Simd simd, ThreadPool* pool) {
    return multiplied<T>(211, 173, 1000, Trans::no, Trans::yes, T(1), T(1), Part::all, simd, pool);
  };
  const auto first = with(best_simd(), nullptr);
  EXPECT_TRUE(test::same_bits(first, with(best_simd(), &three)));
  if (best_simd() == Simd::avx512) {
    EXPECT_TRUE(test::same_bits(first, with(Simd::avx2, nullptr)));
  }
}

TEST(MatrixProduct, HasTheSameBitsOnEveryProcessorWithFusedMultiplyAddsAndForAnyThreads) {
  compare_bits<float>();
  compare_bits<double>();
}

TEST(MatrixProduct, ALowerTriangleIsThatOfTheWholeProduct) {
  ThreadPool two(2);
  const auto product = [&](Part part) {
    return multiplied<float>(300, 300, 400, Trans::yes, Trans::no, 1, 0, part, best_simd(), &two);
  };
  const auto whole = product(Part::all), lower = product(Part::lower);
  for (std::size_t i = 0; i < 300; ++i)
    for (std::size_t j = 0; j <= i; ++j) ASSERT_EQ(whole(i, j), lower(i, j));
}

TEST(MatrixProduct, RatesAreBelowThePeakOfRegisters) {
  ThreadPool pool;
  const ProductRates rates = measure_products(pool);
  EXPECT_GT(rates.one, 0);
  EXPECT_GT(rates.all, 0);
  EXPECT_LT(rates.one, 1.1 * rates.peak);
}

TEST(MatrixProduct, LessThanHalfOfThePeakIsAProblemWithARemedy) {
  EXPECT_EQ(problem_of({200, 100, 150}, "Release"), "");
  EXPECT_EQ(problem_of({200, 90, 150}, "Release"),
            "matrix products reach 45 % of what the processor can do; close programs that use the same cores and run "
            "doctor again");
  EXPECT_EQ(problem_of({200, 20, 30}, "Debug"),
            "matrix products reach 10 % of what the processor can do; this is a Debug build: use Release");
}

}  // namespace
}  // namespace parsnets
