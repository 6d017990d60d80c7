#pragma once
// Products of dense row-major matrices in float32 and float64, with the widest fused multiply-adds that the processor
// says it has (AVX-512, AVX2, NEON; SSE2 without fusing). Each value of a result is one chain of multiply-adds in the
// order of the inner index, whatever the blocks and the threads are, so that all processors with fused multiply-adds
// give the same bits. Written by hand, since a BLAS chooses its kernels by a list of processors that ends where its
// release does: docs/dependencies.md has the measurements.

#include <cstddef>
#include <string>
#include <type_traits>

#include "base/simd.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

enum class Trans { no, yes };

/// A matrix, or a part of one, as a factor of a product: stored with `stride` values from row to row.
template <class T>
struct Factor {
  const T* data = nullptr;
  std::size_t stride = 0;
  Trans trans = Trans::no;  ///< yes: the transpose is meant
};

/// What of a square result is computed. lower: what is above the diagonal is not defined afterwards.
enum class Part { all, lower };

/// The rows x columns matrix at `c` becomes alpha·A·B + beta·C, A being rows x inner and B inner x columns; rows of C
/// are `stride` values apart. With beta 0, C is not read. T = float and double. C may overlap neither factor. No pool:
/// in the calling thread, with the same bits.
template <class T>
void multiply_blocks(ThreadPool* pool, std::size_t rows, std::size_t columns, std::size_t inner, T alpha, Factor<T> a,
                     Factor<T> b, T beta, T* c, std::size_t stride, Part part = Part::all, Simd simd = best_simd());

/// BLAS's gemm for row-major matrices, in the calling thread: C = alpha·op(A)·op(B) + beta·C, C being m x n.
template <class T>
void gemm(Trans trans_a, Trans trans_b, std::size_t m, std::size_t n, std::size_t k, std::type_identity_t<T> alpha,
          const T* a, std::size_t stride_a, const T* b, std::size_t stride_b, std::type_identity_t<T> beta, T* c,
          std::size_t stride_c) {
  multiply_blocks<T>(nullptr, m, n, k, alpha, {a, stride_a, trans_a}, {b, stride_b, trans_b}, beta, c, stride_c);
}

/// The lower triangle of the d x d matrix `sum` gets factor·XᵀX of the n x d matrix X added: products of up to 512
/// samples are formed in float32 and added up in float64.
void add_gram_lower(ThreadPool& pool, MatrixView<const float> x, double factor, MatrixView<double> sum);

/// GFLOP/s in float32, as measured.
struct ProductRates {
  double peak = 0;  ///< of one core, in a loop of fused multiply-adds on registers alone: no product can exceed it
  double one = 0;   ///< of a large product on one core
  double all = 0;   ///< of the same on all cores of the pool
  double share() const { return one / peak; }
};
/// What is wrong where less than half of the peak is reached, and the remedy; empty: nothing is.
std::string problem_of(const ProductRates& rates, const std::string& build_type);

/// Peak of the calling thread by its own processor time, so that other programs hardly matter. Takes a tenth of a
/// second.
double register_peak();
/// Takes about half a second.
ProductRates measure_products(ThreadPool& pool);

}  // namespace parsnets
