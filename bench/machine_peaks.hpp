#pragma once
// What the machine can do at most, measured while the suite runs: matrix products by the engine's own multiply(), and
// memcpy of buffers much larger than the caches.

#include <nlohmann/json.hpp>
#include <vector>

#include "parsnets/threads.hpp"

namespace bench {

class MachinePeaks {
 public:
  /// Takes one sample of each. Called before and after every stage, so that what else runs on the machine slows both.
  void sample(parsnets::ThreadPool& pool);

  /// Medians of the last `count` samples: flops per second, and bytes read and written per second.
  double gemm32(std::size_t count) const;
  double gemm64(std::size_t count) const;
  double copy(std::size_t count) const;
  /// Every sample.
  nlohmann::json results() const;

 private:
  std::vector<double> gemm32_, gemm64_, copy_;
};

}  // namespace bench
