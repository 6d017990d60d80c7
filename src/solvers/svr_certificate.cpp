#include "solvers/svr_certificate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace parsnets {

namespace {
constexpr std::size_t kColumns = 16;  // one cache line of each row
constexpr std::size_t kStride = 16;   // one point in so many brackets the median
}  // namespace

float tube_bias(std::span<const float> r, float epsilon, std::span<float> points) {
  const std::size_t n = r.size();
  // A sample brackets the middle, so that only the points between have to be put in order.
  float low = -std::numeric_limits<float>::infinity(), high = -low;
  if (n >= 16 * kStride) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < n; i += kStride) {
      points[taken++] = r[i] - epsilon;
      points[taken++] = r[i] + epsilon;
    }
    const auto begin = points.begin(), end = begin + static_cast<std::ptrdiff_t>(taken);
    const auto reach = static_cast<std::ptrdiff_t>(2 * std::sqrt(static_cast<double>(taken)));
    const auto below = begin + static_cast<std::ptrdiff_t>(taken / 2) - reach, above = below + 2 * reach;
    std::nth_element(begin, below, end);
    std::nth_element(below, above, end);
    low = *below;
    high = *above;
  }
  for (;;) {
    std::size_t smaller = 0, inside = 0;
    const auto take = [&](float p) {  // without branches: a point that does not count is overwritten by the next
      points[inside] = p;
      smaller += static_cast<std::size_t>(p < low);
      inside += static_cast<std::size_t>(p >= low) & static_cast<std::size_t>(p <= high);
    };
    for (std::size_t i = 0; i < n; ++i) {
      take(r[i] - epsilon);
      take(r[i] + epsilon);
    }
    if (smaller + 1 <= n && n < smaller + inside) {
      const auto middle = points.begin() + static_cast<std::ptrdiff_t>(n - smaller);
      std::nth_element(points.begin(), middle, points.begin() + static_cast<std::ptrdiff_t>(inside));
      const float upper = *middle, lower = *std::max_element(points.begin(), middle);
      return lower + 0.5f * (upper - lower);
    }
    low = -std::numeric_limits<float>::infinity();
    high = -low;
  }
}

void evaluate_svr(ThreadPool& pool, MatrixView<const float> targets, MatrixView<const float> f,
                  MatrixView<const float> beta, double c, double epsilon, bool global_bias, const SvrValues& out) {
  const std::size_t n = targets.rows(), m = targets.cols();
  const float tube = static_cast<float>(epsilon);
  pool.parallel_for(m, kColumns, [&](std::size_t first, std::size_t last, std::size_t) {
    const std::size_t w = last - first;
    std::vector<float> r(w * n), points(global_bias ? 2 * n + 1 : 0);
    std::array<double, kColumns> quadratic{}, linear{}, absolute{};
    for (std::size_t i = 0; i < n; ++i) {
      const float *a = targets.data() + i * m + first, *v = f.data() + i * m + first, *b = beta.data() + i * m + first;
      for (std::size_t j = 0; j < w; ++j) {
        r[j * n + i] = a[j] - v[j];
        quadratic[j] += static_cast<double>(b[j]) * v[j];
        linear[j] += static_cast<double>(b[j]) * a[j];
        absolute[j] += std::fabs(b[j]);
      }
    }
    for (std::size_t j = 0; j < w; ++j) {
      const std::span<const float> residual(r.data() + j * n, n);
      const float bias = global_bias ? tube_bias(residual, tube, points) : 0.0f;
      double loss = 0;
      for (float x : residual) loss += std::max(0.0, std::fabs(static_cast<double>(x) - bias) - epsilon);
      out.bias[first + j] = bias;
      out.primal[first + j] = 0.5 * quadratic[j] + c * loss;
      out.dual[first + j] = linear[j] - 0.5 * quadratic[j] - epsilon * absolute[j];
    }
  });
}

}  // namespace parsnets
