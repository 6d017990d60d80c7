#include "machine_peaks.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/linalg.hpp"
#include "harness.hpp"

namespace bench {

namespace {

using namespace parsnets;

constexpr std::size_t kSide = 2048;         // of square products: 17 Gflop
constexpr std::size_t kBytes = 256u << 20;  // of a copied buffer: eight times a cache of 32 MB
constexpr std::size_t kPiece = 4u << 20;

template <class T>
double gemm_rate(ThreadPool& pool) {
  static const Matrix<T> a(kSide, kSide, T(0.5)), b(kSide, kSide, T(0.25));
  static Matrix<T> c(kSide, kSide, T(0));
  const double side = static_cast<double>(kSide);
  return 2 * side * side * side /
         seconds_of([&] { multiply(pool, Trans::no, a.view(), Trans::no, b.view(), c.view()); });
}

double copy_rate(ThreadPool& pool) {
  static Matrix<char> from(1, kBytes, 1), to(1, kBytes, 0);
  return 2 * static_cast<double>(kBytes) / seconds_of([&] {
           pool.parallel_for(kBytes, kPiece, [&](std::size_t begin, std::size_t end, std::size_t) {
             std::memcpy(to.data() + begin, from.data() + begin, end - begin);
           });
         });
}

double recent(const std::vector<double>& samples, std::size_t count) {
  return median({samples.end() - static_cast<std::ptrdiff_t>(std::min(count, samples.size())), samples.end()});
}

}  // namespace

void MachinePeaks::sample(ThreadPool& pool) {
  if (gemm32_.empty()) {  // the first touch of the buffers is not what is measured
    gemm_rate<float>(pool);
    gemm_rate<double>(pool);
    copy_rate(pool);
  }
  gemm32_.push_back(gemm_rate<float>(pool));
  gemm64_.push_back(gemm_rate<double>(pool));
  copy_.push_back(copy_rate(pool));
}

double MachinePeaks::gemm32(std::size_t count) const { return recent(gemm32_, count); }
double MachinePeaks::gemm64(std::size_t count) const { return recent(gemm64_, count); }
double MachinePeaks::copy(std::size_t count) const { return recent(copy_, count); }

nlohmann::json MachinePeaks::results() const {
  return {{"gemm32_flops_per_second", gemm32_}, {"gemm64_flops_per_second", gemm64_}, {"copy_bytes_per_second", copy_}};
}

}  // namespace bench
