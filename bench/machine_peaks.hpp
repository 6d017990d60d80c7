#pragma once
// What the machine can do at most, measured while the suite runs: fused multiply-adds on registers alone, and STREAM's
// triad, a = b + s·c, on vectors much larger than the caches. Beside them, matrix products by the engine's multiply().

#include <nlohmann/json.hpp>
#include <vector>

#include "parsnets/threads.hpp"

namespace bench {

class MachinePeaks {
 public:
  /// Takes one sample of each. Called before and after every stage, so that what else runs on the machine slows
  /// products and triad as it slows the stage. The peak of multiply-adds is that of the hardware: it stays where it is.
  void sample(parsnets::ThreadPool& pool);

  /// Medians of the last `count` samples: flops per second, and bytes read and written per second.
  double fma32(std::size_t count) const;
  double fma64(std::size_t count) const { return fma32(count) / 2; }  // half as many values in a register
  double gemm32(std::size_t count) const;
  double gemm64(std::size_t count) const;
  double triad(std::size_t count) const;
  /// Every sample, and the products' share of the peak.
  nlohmann::json results() const;

 private:
  std::vector<double> fma32_, gemm32_, gemm64_, triad_;
};

}  // namespace bench
