#pragma once
// Loops that the compiler vectorises once per instruction set; which one runs is chosen when the program starts.
// Nothing is contracted or reordered (-ffp-contract=off), so that all of them give the same bits.

// Sanitizers cannot run in the resolvers this needs.
#if defined(PARSNETS_SANITIZED) || !defined(__x86_64__) || !defined(__GNUC__) || defined(__clang__)
#define PARSNETS_SIMD
#else
#define PARSNETS_SIMD __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
