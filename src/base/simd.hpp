#pragma once
// The instructions that our own kernels are written for, chosen by what the processor says it has.

// Loops that the compiler vectorises once per instruction set; which one runs is chosen when the program starts.
// Nothing is contracted or reordered (-ffp-contract=off), so that all of them give the same bits.

// Sanitizers cannot run in the resolvers this needs.
#if defined(PARSNETS_SANITIZED) || !defined(__x86_64__) || !defined(__GNUC__) || defined(__clang__)
#define PARSNETS_SIMD
#else
#define PARSNETS_SIMD __attribute__((target_clones("default", "avx2", "avx512f")))
#endif

namespace parsnets {

enum class Simd { portable, avx2, avx512 };  ///< portable: NEON on ARM, SSE2 on x86-64

/// The widest that this processor has; avx2 includes fused multiply-adds.
inline Simd best_simd() {
#if defined(__x86_64__)
  static const Simd best = __builtin_cpu_supports("avx512f")                                 ? Simd::avx512
                           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Simd::avx2
                                                                                             : Simd::portable;
  return best;
#else
  return Simd::portable;
#endif
}

inline const char* simd_name(Simd simd) {
  if (simd == Simd::avx512) return "AVX-512";
  if (simd == Simd::avx2) return "AVX2";
#if defined(__x86_64__)
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "no vectors";
#endif
}

}  // namespace parsnets
