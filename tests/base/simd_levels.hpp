#pragma once
// The instruction sets of our kernels that this machine can run.

#include <vector>

#include "base/simd.hpp"

namespace parsnets::test {

inline std::vector<Simd> simd_levels() {
  std::vector<Simd> found{Simd::portable};
  if (best_simd() != Simd::portable) found.push_back(Simd::avx2);
  if (best_simd() == Simd::avx512) found.push_back(Simd::avx512);
  return found;
}

}  // namespace parsnets::test
