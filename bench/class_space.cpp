// Seconds, flops and share of the GEMM peak of the closed form of class space: statistics of samples, then the map.
// On a quiet machine: short products find a free core more easily than long parts do.
// Usage: bench_class_space [samples=7057] [features=2048] [classes=150] [threads=0] [repeats=10]
//
// Flops are those that the algorithm needs, a multiply-add counting 2. A symmetric product of n samples with d features
// has n·d·(d + 1)/2 multiply-adds, that is about n·d² flops, half of a general product. The peak is the fastest of
// several square products by multiply(), on the same threads and in the same run: float32 for statistics, float64 for
// the rest. The share of the whole is the time that its flops take at these peaks, over its time. Bytes are those of
// inputs and results, each once.

#include "solvers/class_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "parsnets/error.hpp"

namespace {

using namespace parsnets;

template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class T>
Matrix<T> normal_matrix(std::size_t rows, std::size_t cols) {
  Matrix<T> out(rows, cols);
  Rng rng(rows + cols);
  for (T& v : out.values()) v = static_cast<T>(rng.normal());
  return out;
}

/// Flops per second of the fastest square product so far.
template <class T>
class Peak {
 public:
  void run(ThreadPool& pool) {
    for (Product& p : products_) {
      const auto n = static_cast<double>(p.a.rows());
      best_ = std::max(best_, 2 * n * n * n / seconds_of([&] {
                                multiply(pool, Trans::no, p.a.view(), Trans::no, p.b.view(), p.c.view());
                              }));
    }
  }
  double best() const { return best_; }

 private:
  struct Product {
    explicit Product(std::size_t n) : a(normal_matrix<T>(n, n)), b(normal_matrix<T>(n, n)), c(n, n) {}
    Matrix<T> a, b, c;
  };
  std::array<Product, 3> products_{Product(1024), Product(2048), Product(3072)};
  double best_ = 0;
};

/// What a part needs, and the shortest time it took.
struct Part {
  std::string name;
  double flops, bytes;
  double seconds = 1e30, peak = 0;

  template <class Work>
  void run(Work&& work) {
    seconds = std::min(seconds, seconds_of(work));
  }
  double ideal() const { return flops / peak; }
};

void print(const Part& part) {
  fmt::print("{:<38}{:>10.2f}{:>10.1f}{:>10.1f}{:>10.1f}{:>8.0f} %\n", part.name, part.flops / 1e9, part.bytes / 1e6,
             1e3 * part.seconds, part.flops / part.seconds / 1e9, 100 * part.ideal() / part.seconds);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto argument = [&](int i, std::size_t otherwise) {
    return argc > i ? static_cast<std::size_t>(std::max(0L, std::atol(argv[i]))) : otherwise;
  };
  const std::size_t samples = argument(1, 7057), features = argument(2, 2048), classes = argument(3, 150);
  const int repeats = static_cast<int>(argument(5, 10));
  if (classes < 2 || samples < classes || features < 1 || repeats < 1)
    throw Error(ErrorCode::usage, "usage: bench_class_space [samples] [features] [classes >= 2] [threads] [repeats]");
  ThreadPool pool(static_cast<unsigned>(argument(4, 0)));

  auto x = normal_matrix<float>(samples, features);
  for (float& v : x.values()) v = std::abs(v);
  std::vector<std::int32_t> labels, rows(samples);
  for (std::size_t l = 0; l < samples; ++l) labels.push_back(static_cast<std::int32_t>(l % classes));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<std::string> names;
  for (std::size_t c = 0; c < classes; ++c) names.push_back(std::to_string(c));

  constexpr double kRho = 0.1;
  const auto n = static_cast<double>(samples), d = static_cast<double>(features), p = static_cast<double>(classes);
  Part sums{"statistics, float32", n * d * (d + 1), 4 * n * d + 8 * d * d},
      within{"covariance within classes, float64", p * d * (d + 1), 16 * d * d + 8 * p * d},
      map{"map, float64", d * d * d / 3 + 2 * d * d * p + 4 * d * p * p + 9 * p * p * p, 8 * d * d + 12 * d * p},
      factor{"  of which Cholesky factor", d * d * d / 3, 16 * d * d},
      solution{"  of which its solutions", 2 * d * d * p, 8 * d * d + 16 * d * p},
      inverse{"preconditioner of refinement, float32", d * d * d + p * d * (d + 1), 12 * d * d};
  Peak<float> peak32;
  Peak<double> peak64;
  for (int r = 0; r < repeats; ++r) {  // peaks and parts in turn: what else runs on the machine slows down both
    peak32.run(pool);
    peak64.run(pool);
    Statistics statistics;
    sums.run([&] {
      statistics = Statistics(FeatureScaling::sqrt_l2, names, features);
      statistics.add(x.view(), labels, rows, pool);
    });
    std::optional<ClassSpace> space;
    within.run([&] { space.emplace(statistics, pool); });
    map.run([&] { space->solve(kRho, pool); });
    inverse.run([&] { space->preconditioner(kRho, pool); });
    std::optional<Cholesky> cholesky;
    Matrix<double> products = statistics.products();
    factor.run([&] { cholesky.emplace(pool, std::move(products), n * kRho); });
    auto b = normal_matrix<double>(features, classes);
    solution.run([&] { cholesky->solve(pool, b.view()); });
  }
  for (Part* part : {&sums, &inverse}) part->peak = peak32.best();
  for (Part* part : {&within, &map, &factor, &solution}) part->peak = peak64.best();
  const double flops = sums.flops + within.flops + map.flops, seconds = sums.seconds + within.seconds + map.seconds,
               ideal = sums.ideal() + within.ideal() + map.ideal();
  fmt::print("{} x {}, {} classes, {} threads, shortest of {} runs\n", samples, features, classes, pool.size(),
             repeats);
  fmt::print("GEMM peak: float32 {:.1f} Gflop/s, float64 {:.1f} Gflop/s\n", peak32.best() / 1e9, peak64.best() / 1e9);
  fmt::print("{:<38}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "Gflop", "MB", "ms", "Gflop/s", "of peak");
  for (const Part& part : {sums, within, map, factor, solution}) print(part);
  print({"whole", flops, 4 * n * d + 4 * d * p, seconds, flops / ideal});
  print(inverse);
  return 0;
} catch (const parsnets::Error& e) {
  fmt::print(stderr, "bench_class_space: {}\n", e.what());
  return static_cast<int>(e.code());
}
