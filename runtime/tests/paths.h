/* The paths of a machine, from the best that pnrt_open chooses down to plain C. */
#ifndef PARSNETS_RT_TESTS_PATHS_H
#define PARSNETS_RT_TESTS_PATHS_H

#include "parsnets_rt.h"

static const char* const path_names[] = {"plain C",      "NEON", "AVX2",
                                         "AVX-512 VNNI", "SDOT", "SIMD128"}; /* by pnrt_path */

static uint8_t lower_path(uint8_t path) {
  return path == PNRT_VNNI ? PNRT_AVX2 : path == PNRT_DOT ? PNRT_NEON : PNRT_SCALAR;
}

#endif
