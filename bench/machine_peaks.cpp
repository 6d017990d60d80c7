#include "machine_peaks.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/linalg.hpp"
#include "base/matrix_product.hpp"
#include "base/row_products.hpp"
#include "harness.hpp"

namespace bench {

namespace {

using namespace parsnets;

constexpr std::size_t kSide = 2048;         // of square products: 17 Gflop
constexpr std::size_t kValues = 64u << 20;  // of a vector of the triad: 256 MB, eight times a cache of 32 MB
constexpr std::size_t kPiece = 1u << 20;

/// All threads at once, since they may share the units of a core or its clock.
double fma_rate(ThreadPool& pool) {
  std::vector<double> rates(pool.size());
  pool.parallel_for(rates.size(), 1, [&](std::size_t t, std::size_t, std::size_t) { rates[t] = register_peak(); });
  return 1e9 * std::accumulate(rates.begin(), rates.end(), 0.0);
}

template <class T>
double gemm_rate(ThreadPool& pool) {
  static const Matrix<T> a(kSide, kSide, T(0.5)), b(kSide, kSide, T(0.25));
  static Matrix<T> c(kSide, kSide, T(0));
  const double side = static_cast<double>(kSide);
  return 2 * side * side * side /
         seconds_of([&] { multiply(pool, Trans::no, a.view(), Trans::no, b.view(), c.view()); });
}

PARSNETS_SIMD void triad(const float* b, const float* c, float* a, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 3.0f * c[i];
}

double triad_rate(ThreadPool& pool) {
  static const Matrix<float> b(1, kValues, 1.0f), c(1, kValues, 2.0f);
  static Matrix<float> a(1, kValues, 0.0f);
  return 3 * sizeof(float) * static_cast<double>(kValues) / seconds_of([&] {
           pool.parallel_for(kValues, kPiece, [&](std::size_t begin, std::size_t end, std::size_t) {
             triad(b.data() + begin, c.data() + begin, a.data() + begin, end - begin);
           });
         });
}

double recent(const std::vector<double>& samples, std::size_t count) {
  return median({samples.end() - static_cast<std::ptrdiff_t>(std::min(count, samples.size())), samples.end()});
}

}  // namespace

void MachinePeaks::sample(ThreadPool& pool) {
  if (fma32_.empty()) {  // the first touch of the buffers is not what is measured
    gemm_rate<float>(pool);
    gemm_rate<double>(pool);
    triad_rate(pool);
  }
  fma32_.push_back(fma_rate(pool));
  gemm32_.push_back(gemm_rate<float>(pool));
  gemm64_.push_back(gemm_rate<double>(pool));
  triad_.push_back(triad_rate(pool));
}

double MachinePeaks::fma32(std::size_t count) const { return recent(fma32_, count); }
double MachinePeaks::gemm32(std::size_t count) const { return recent(gemm32_, count); }
double MachinePeaks::gemm64(std::size_t count) const { return recent(gemm64_, count); }
double MachinePeaks::triad(std::size_t count) const { return recent(triad_, count); }

nlohmann::json MachinePeaks::results() const {
  const std::size_t all = fma32_.size();
  return {{"fma32_flops_per_second", fma32_},
          {"gemm32_flops_per_second", gemm32_},
          {"gemm64_flops_per_second", gemm64_},
          {"gemm32_of_fma_peak", gemm32(all) / fma32(all)},
          {"gemm64_of_fma_peak", gemm64(all) / fma64(all)},
          {"triad_bytes_per_second", triad_}};
}

}  // namespace bench
