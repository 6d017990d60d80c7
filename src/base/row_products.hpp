#pragma once
// Products of some rows with a matrix, for prediction. Every value of a result is one sum in the order of the inner
// index, whatever the other rows are: a sample has the same bits alone and in any batch. With AVX2 and AVX-512 each
// term is a fused multiply-add, so that both give the same bits; without them it is rounded twice.
// Matrices are read in place, rows through pointers: groups of rows need no copy. Nothing is allocated.

#include <cstddef>
#include <span>

#include "base/simd.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets {

/// Memory for `count` values, 64-byte aligned: what `room` has if that is enough, else new memory in its place.
inline float* at_least(Matrix<float>& room, std::size_t count) {
  if (room.size() < count) room = Matrix<float>(1, count);
  return room.data();
}

/// What happens to the rows of a result.
enum class Into {
  set,          ///< c = sum
  add,          ///< c += sum
  add_positive  ///< c += max(0, sum)
};

/// Floats that multiply_transposed() needs to work in.
inline constexpr std::size_t kProductScratch = 512 * 64;

/// c_i = or += start + a_iᵀB for all rows i. a: pointers to `inner` values each; b: inner x columns, row-major; start:
/// `columns` values, or nullptr for zeros; c: as many pointers as a, to `columns` values each, all different.
void multiply_rows(std::span<const float* const> a, std::size_t inner, const float* b, std::size_t columns,
                   const float* start, Into into, std::span<float* const> c, Simd simd = best_simd());

/// c_i = B·a_i, b: columns x inner, row-major, turned in `scratch` (kProductScratch values, 64-byte aligned). The
/// values go to c_i[offset], c_i[offset + 1], …
void multiply_transposed(std::span<const float* const> a, std::size_t inner, const float* b, std::size_t columns,
                         float* scratch, std::span<float* const> c, std::size_t offset = 0, Simd simd = best_simd());

}  // namespace parsnets
