#include "base/exponentials.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__clang__)
#define PARSNETS_AVX512 __attribute__((target("avx512f"), min_vector_width(512)))
#elif defined(__x86_64__)
#define PARSNETS_AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))
#endif

namespace parsnets {

namespace {

// exp(x) = 2ⁿ·exp(r) with n = round(x / ln 2), and r = x − n·ln 2 within ±0.35, where a Taylor polynomial is as
// exact as the numbers. Adding the magic number rounds to an integer and leaves it in the lowest bits. There are no
// branches, so that the compiler makes vectors of the loops below.

constexpr double kLog2E = 0x1.71547652b82fep0;

template <bool fused, typename T>
[[gnu::always_inline]] inline T multiply_add(T a, T b, T c) {
  if constexpr (!fused) return a * b + c;
  if constexpr (sizeof(T) == 4)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
}

/// Coefficients from that of the highest power on.
template <bool fused, typename T, typename... Rest>
[[gnu::always_inline]] inline T polynomial(T r, T sum, Rest... rest) {
  ((sum = multiply_add<fused>(sum, r, rest)), ...);
  return sum;
}

template <bool fused>
[[gnu::always_inline]] inline float power(float x) {
  constexpr float kMagic = 0x1.8p23F, kLn2 = 0x1.62ep-1F, kLn2Rest = 0x1.0bfbe8p-15F;
  const float bounded = x > 88 ? 88 : x;
  const float shifted = multiply_add<fused>(bounded, static_cast<float>(kLog2E), kMagic), n = shifted - kMagic;
  const float r = multiply_add<fused>(n, -kLn2Rest, multiply_add<fused>(n, -kLn2, bounded));
  const float p = polynomial<fused>(r, 1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F);
  const float two = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000U);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p * two) & (0U - std::uint32_t{x >= -87}));
}

template <bool fused>
[[gnu::always_inline]] inline double power(double x) {
  constexpr double kMagic = 0x1.8p52, kLn2 = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;
  const double bounded = x > 709 ? 709 : x;
  const double shifted = multiply_add<fused>(bounded, kLog2E, kMagic), n = shifted - kMagic;
  const double r = multiply_add<fused>(n, -kLn2Rest, multiply_add<fused>(n, -kLn2, bounded));
  const double p = polynomial<fused>(r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                     1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  const double two = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) << 52) + 0x3ff0000000000000U);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p * two) & (0U - std::uint64_t{x >= -708}));
}

typedef double Lanes __attribute__((vector_size(32)));

template <bool fused>
[[gnu::always_inline]] inline double all(float scale, float shift, std::span<float> values) {
  float* const v = values.data();
  const std::size_t count = values.size(), whole = count - count % 8;
  for (std::size_t i = 0; i < count; ++i) v[i] = power<fused>(multiply_add<fused>(scale, v[i], -shift));
  Lanes even{}, odd{};
  for (std::size_t i = 0; i < whole; i += 8) {
    even += Lanes{v[i], v[i + 1], v[i + 2], v[i + 3]};
    odd += Lanes{v[i + 4], v[i + 5], v[i + 6], v[i + 7]};
  }
  even += odd;
  double sum = (even[0] + even[1]) + (even[2] + even[3]);
  for (std::size_t i = whole; i < count; ++i) sum += v[i];
  return sum;
}

template <bool fused>
[[gnu::always_inline]] inline void all(double scale, const double* z, double* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = power<fused>(scale * z[i]);
}

#if defined(__x86_64__)
PARSNETS_AVX512 double with_avx512(float scale, float shift, std::span<float> values) {
  return all<true>(scale, shift, values);
}
PARSNETS_AVX512 void with_avx512(double scale, const double* z, double* out, std::size_t count) {
  all<true>(scale, z, out, count);
}
__attribute__((target("avx2,fma"))) double with_avx2(float scale, float shift, std::span<float> values) {
  return all<true>(scale, shift, values);
}
__attribute__((target("avx2,fma"))) void with_avx2(double scale, const double* z, double* out, std::size_t count) {
  all<true>(scale, z, out, count);
}
#endif

}  // namespace

double exponentials(double scale, double shift, std::span<float> values, [[maybe_unused]] Simd simd) {
  const auto by = static_cast<float>(scale), less = static_cast<float>(shift);
#if defined(__x86_64__)
  if (simd == Simd::avx512) return with_avx512(by, less, values);
  if (simd == Simd::avx2) return with_avx2(by, less, values);
#endif
  return all<false>(by, less, values);
}

void exponentials(double scale, std::span<const double> z, std::span<double> out, [[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::avx512) return with_avx512(scale, z.data(), out.data(), z.size());
  if (simd == Simd::avx2) return with_avx2(scale, z.data(), out.data(), z.size());
#endif
  all<false>(scale, z.data(), out.data(), z.size());
}

}  // namespace parsnets
