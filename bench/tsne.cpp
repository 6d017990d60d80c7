// Seconds of a t-SNE map of Gaussian clusters in rectified features, by stage, and the objective it reaches.
// Usage: bench_tsne [rows=10000] [columns=2048] [classes=50] [threads=0]

#include "report/tsne.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/rng.hpp"
#include "parsnets/error.hpp"

namespace {

/// Class means of standard normal values, noise of deviation 2 around them, negative values cut off.
parsnets::Matrix<float> clusters(std::size_t rows, std::size_t columns, std::size_t classes) {
  parsnets::Matrix<float> means(classes, columns), x(rows, columns);
  parsnets::Rng rng(1);
  for (float& v : means.values()) v = static_cast<float>(rng.normal());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      x(i, j) = std::max(0.0f, means(i % classes, j) + 2 * static_cast<float>(rng.normal()));
  return x;
}

/// How often a point's nearest other point in the plane has its class.
double agreement(const parsnets::Matrix<float>& y, std::size_t classes) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    std::size_t nearest = i;
    float least = INFINITY;
    for (std::size_t j = 0; j < y.rows(); ++j) {
      const float dx = y(i, 0) - y(j, 0), dy = y(i, 1) - y(j, 1), distance = dx * dx + dy * dy;
      if (j != i && distance < least) {
        least = distance;
        nearest = j;
      }
    }
    same += i % classes == nearest % classes ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(y.rows());
}

template <class Work>
auto timed(const char* what, Work work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  fmt::print("{:<34}{:>8.2f} s\n", what,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto argument = [&](int i, std::size_t otherwise) {
    return argc > i ? static_cast<std::size_t>(std::max(0L, std::atol(argv[i]))) : otherwise;
  };
  const std::size_t rows = argument(1, 10000), columns = argument(2, 2048), classes = argument(3, 50);
  if (rows < 2 || columns < 1 || classes < 1) {
    fmt::print(stderr, "usage: bench_tsne [rows >= 2] [columns >= 1] [classes >= 1] [threads]\n");
    return 2;
  }
  parsnets::ThreadPool pool(static_cast<unsigned>(argument(4, 0)));
  const auto x = clusters(rows, columns, classes);
  const parsnets::TsneOptions options;
  fmt::print("{} x {}, {} classes, {} threads, {} iterations\n", rows, columns, classes, pool.size(),
             options.iterations);
  const auto reduced =
      timed("of which principal components", [&] { return parsnets::principal_coordinates(x.view(), 50, pool); });
  const auto p = timed("of which neighbours and affinities",
                       [&] { return parsnets::tsne_affinities(reduced.view(), options.perplexity, pool); });
  const auto y = timed("tsne", [&] { return parsnets::tsne(x.view(), options, pool); });
  parsnets::Matrix<double> points(rows, 2);
  std::copy(y.values().begin(), y.values().end(), points.values().begin());
  fmt::print("KL divergence {:.4f}, nearest point of the same class {:.4f}\n",
             parsnets::tsne_objective(p, points.view(), 0.2, pool), agreement(y, classes));
  return 0;
} catch (const parsnets::Error& e) {
  fmt::print(stderr, "bench_tsne: {}\n", e.what());
  return static_cast<int>(e.code());
}
