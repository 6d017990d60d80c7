#include "base/row_products.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 on its own intrinsics (PR 105593)
#endif
#endif

namespace parsnets {

namespace {

constexpr std::size_t kPanel = 64;   // columns that are turned at a time
constexpr std::size_t kDepth = 512;  // inner values at a time: a panel of them stays in the cache beside rows of a
constexpr std::size_t kShallowDepth = 64;  // for a single row: the turned panel stays in the first cache
constexpr std::size_t kShortRow = 512;     // up to which the processor does not foresee which memory comes next
static_assert(kPanel * kDepth == kProductScratch);

struct Product {
  const float* b = nullptr;                     // `inner` rows, each `stride` values after the one before
  std::size_t stride = 0, inner = 0, skip = 0;  // of each a, `skip` values come before those of this product
  const float* start = nullptr;                 // of the sums; nullptr: zeros
  bool resume = false;                          // the sums start from c
  Into into = Into::set;
};

namespace portable {

#define PARSNETS_TARGET
typedef float Vec __attribute__((vector_size(16)));
using Mask = std::size_t;
constexpr std::size_t kWidth = 4;
constexpr int kRows = 4, kVectors = 3, kWide = 8;

inline Mask mask_of(std::size_t count) { return count; }
inline Vec broadcast(float v) { return Vec{v, v, v, v}; }
inline Vec load(const float* p, Mask tail = kWidth) {
  Vec v = broadcast(0.0f);
  std::memcpy(&v, p, (tail == kWidth ? kWidth : tail) * sizeof(float));
  return v;
}
inline void store(float* p, Vec v, Mask tail = kWidth) { std::memcpy(p, &v, tail * sizeof(float)); }
inline Vec multiply_add(Vec a, Vec b, Vec sum) { return sum + a * b; }
inline Vec add(Vec a, Vec b) { return a + b; }
inline Vec positive(Vec v) { return v > 0 ? v : broadcast(0.0f); }
inline void turn_block(const float* b, std::size_t stride, std::size_t columns, std::size_t inner, float* out,
                       std::size_t width) {
  for (std::size_t k = 0; k < inner; ++k)
    for (std::size_t i = 0; i < kWidth; ++i) out[k * width + i] = i < columns ? b[i * stride + k] : 0.0f;
}

#include "base/row_kernels.inc"
#undef PARSNETS_TARGET

}  // namespace portable

#if defined(__x86_64__)

namespace avx2 {

#define PARSNETS_TARGET __attribute__((target("avx2,fma")))
using Vec = __m256;
using Mask = __m256i;
constexpr std::size_t kWidth = 8;
constexpr int kRows = 4, kVectors = 3, kWide = 12;

PARSNETS_TARGET inline Mask mask_of(std::size_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
PARSNETS_TARGET inline Vec broadcast(float v) { return _mm256_set1_ps(v); }
PARSNETS_TARGET inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
PARSNETS_TARGET inline Vec load(const float* p, Mask tail) { return _mm256_maskload_ps(p, tail); }
PARSNETS_TARGET inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
PARSNETS_TARGET inline void store(float* p, Vec v, Mask tail) { _mm256_maskstore_ps(p, tail, v); }
PARSNETS_TARGET inline Vec multiply_add(Vec a, Vec b, Vec sum) { return _mm256_fmadd_ps(a, b, sum); }
PARSNETS_TARGET inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
PARSNETS_TARGET inline Vec positive(Vec v) { return _mm256_max_ps(v, _mm256_setzero_ps()); }
PARSNETS_TARGET inline void turn_block(const float* b, std::size_t stride, std::size_t columns, std::size_t inner,
                                       float* out, std::size_t width) {
  const Mask tail = mask_of(inner);
  Vec r[8], t[8], u[8];
  for (std::size_t i = 0; i < 8; ++i) r[i] = i < columns ? load(b + i * stride, tail) : _mm256_setzero_ps();
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (std::size_t j = 0; j < 4; ++j) {
    r[j] = _mm256_permute2f128_ps(u[j], u[4 + j], 0x20);
    r[4 + j] = _mm256_permute2f128_ps(u[j], u[4 + j], 0x31);
  }
  for (std::size_t k = 0; k < 8 && k < inner; ++k) store(out + k * width, r[k]);
}

#include "base/row_kernels.inc"
#undef PARSNETS_TARGET

}  // namespace avx2

namespace avx512 {

#define PARSNETS_TARGET __attribute__((target("avx512f")))
using Vec = __m512;
using Mask = __mmask16;
constexpr std::size_t kWidth = 16;
constexpr int kRows = 6, kVectors = 4, kWide = 24;

inline Mask mask_of(std::size_t count) { return static_cast<Mask>((1u << std::min<std::size_t>(count, 16)) - 1); }
PARSNETS_TARGET inline Vec broadcast(float v) { return _mm512_set1_ps(v); }
PARSNETS_TARGET inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
PARSNETS_TARGET inline Vec load(const float* p, Mask tail) { return _mm512_maskz_loadu_ps(tail, p); }
PARSNETS_TARGET inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
PARSNETS_TARGET inline void store(float* p, Vec v, Mask tail) { _mm512_mask_storeu_ps(p, tail, v); }
PARSNETS_TARGET inline Vec multiply_add(Vec a, Vec b, Vec sum) { return _mm512_fmadd_ps(a, b, sum); }
PARSNETS_TARGET inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
PARSNETS_TARGET inline Vec positive(Vec v) { return _mm512_max_ps(v, _mm512_setzero_ps()); }
PARSNETS_TARGET inline Vec unpack(Vec a, Vec b, bool high) {
  const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
}
PARSNETS_TARGET inline void turn_block(const float* b, std::size_t stride, std::size_t columns, std::size_t inner,
                                       float* out, std::size_t width) {
  const Mask tail = mask_of(inner);
  Vec r[16], t[16], u[16];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < 16; ++i) r[i] = i < columns ? load(b + i * stride, tail) : _mm512_setzero_ps();
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    u[i] = unpack(t[i], t[i + 2], false);
    u[i + 1] = unpack(t[i], t[i + 2], true);
    u[i + 2] = unpack(t[i + 1], t[i + 3], false);
    u[i + 3] = unpack(t[i + 1], t[i + 3], true);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vec even = _mm512_shuffle_f32x4(u[j], u[4 + j], 0x88), odd = _mm512_shuffle_f32x4(u[j], u[4 + j], 0xdd),
              even2 = _mm512_shuffle_f32x4(u[8 + j], u[12 + j], 0x88),
              odd2 = _mm512_shuffle_f32x4(u[8 + j], u[12 + j], 0xdd);
    r[j] = _mm512_shuffle_f32x4(even, even2, 0x88);
    r[4 + j] = _mm512_shuffle_f32x4(odd, odd2, 0x88);
    r[8 + j] = _mm512_shuffle_f32x4(even, even2, 0xdd);
    r[12 + j] = _mm512_shuffle_f32x4(odd, odd2, 0xdd);
  }
#pragma GCC unroll 16
  for (std::size_t k = 0; k < 16; ++k)
    if (k < inner) store(out + k * width, r[k]);
}

#include "base/row_kernels.inc"
#undef PARSNETS_TARGET

}  // namespace avx512

#endif

struct Kernels {
  decltype(&portable::product) product;
  decltype(&portable::turn) turn;
};

Kernels kernels_of([[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::avx512) return {avx512::product, avx512::turn};
  if (simd == Simd::avx2) return {avx2::product, avx2::turn};
#endif
  return {portable::product, portable::turn};
}

}  // namespace

void multiply_rows(std::span<const float* const> a, std::size_t inner, const float* b, std::size_t columns,
                   const float* start, Into into, std::span<float* const> c, Simd simd) {
  if (a.empty()) return;
  const Kernels kernels = kernels_of(simd);
  Product p;
  p.stride = columns;
  p.start = start;
  p.into = into;
  // A part of the inner values at a time only where the sums may wait in c.
  const std::size_t depth = into == Into::set && a.size() > 1 ? kDepth : std::max<std::size_t>(inner, 1);
  for (std::size_t first = 0; first == 0 || first < inner; first += depth) {
    p.b = b + first * columns;
    p.inner = std::min(depth, inner - first);
    p.skip = first;
    p.resume = first > 0;
    kernels.product(p, a, columns, c);
  }
}

void multiply_transposed(std::span<const float* const> a, std::size_t inner, const float* b, std::size_t columns,
                         float* scratch, std::span<float* const> c, std::size_t offset, Simd simd) {
  const Kernels kernels = kernels_of(simd);
  constexpr std::size_t kPointers = 60;
  float* to[kPointers];
  Product p;
  p.b = scratch;
  const std::size_t depth = a.size() > 1 ? kDepth : kShallowDepth;
  for (std::size_t column = 0; column < columns && !a.empty(); column += kPanel) {
    const std::size_t count = std::min(kPanel, columns - column);
    p.stride = (count + 15) / 16 * 16;
    for (std::size_t first = 0; first == 0 || first < inner; first += depth) {
      p.inner = std::min(depth, inner - first);
      p.skip = first;
      p.resume = first > 0;
      kernels.turn(b + column * inner + first, inner, count, p.inner, scratch, p.stride);
      for (std::size_t r = 0; r < a.size(); r += kPointers) {
        const std::size_t rows = std::min(kPointers, a.size() - r);
        for (std::size_t i = 0; i < rows; ++i) to[i] = c[r + i] + offset + column;
        kernels.product(p, a.subspan(r, rows), count, {to, rows});
      }
    }
  }
}

}  // namespace parsnets
