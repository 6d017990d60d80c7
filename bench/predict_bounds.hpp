#pragma once
// Prediction against what the machine allows. measure_machine() gives the rates of the machine, measure_prediction()
// the times of a model beside the bounds that these rates give, measure_many_classes() those of a large class bank.

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "parsnets/model.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/ranking.hpp"

namespace parsnets::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Others may use the machine as well: the shortest time says most about the work.
inline double shortest(int repeats, const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) least = std::min(least, seconds_of(work));
  return least;
}

struct MachineRates {
  double flops = 0;  ///< of a float32 GEMM of 1024 x 1024 x 1024 per thread, per second, all threads together
  double copied = 0, read = 0;  ///< bytes per second of 256 MB; a copied byte is read and written
};

/// Adds 16 streams, so that loads and not additions set the pace.
__attribute__((optimize("no-tree-slp-vectorize"), target_clones("default", "avx2", "avx512f"))) inline float sum_of(
    const float* values, std::size_t count) {
  constexpr std::size_t kLanes = 64;
  float lanes[kLanes] = {};
  for (std::size_t i = 0; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += values[i + l];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

inline MachineRates measure_machine(ThreadPool& pool, int repeats) {
  constexpr std::size_t kSide = 1024, kFloats = std::size_t{64} << 20;
  const std::size_t threads = pool.size();
  MachineRates rates;
  {
    Matrix<float> a(threads * kSide, kSide, 0.5f), b(threads * kSide, kSide, 0.25f), c(threads * kSide, kSide, 0.0f);
    const double seconds = shortest(repeats, [&] {
      pool.parallel_for(threads, 1, [&](std::size_t t, std::size_t, std::size_t) {
        const std::size_t first = t * kSide * kSide;
        constexpr int side = static_cast<int>(kSide);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1, a.data() + first, side,
                    b.data() + first, side, 0, c.data() + first, side);
      });
    });
    rates.flops = 2.0 * kSide * kSide * kSide * static_cast<double>(threads) / seconds;
  }
  Matrix<float> from(1, kFloats, 1.0f), to(1, kFloats, 0.0f);
  std::vector<float> sums(threads * 16);  // a cache line each
  const auto shared_out = [&](const std::function<void(std::size_t, std::size_t, std::size_t)>& part) {
    return shortest(repeats, [&] { pool.parallel_for(kFloats, kFloats / threads, part); });
  };
  const double bytes = static_cast<double>(kFloats) * sizeof(float);
  rates.copied = bytes / shared_out([&](std::size_t begin, std::size_t end, std::size_t) {
                   std::memcpy(to.data() + begin, from.data() + begin, (end - begin) * sizeof(float));
                 });
  rates.read = bytes / shared_out([&](std::size_t begin, std::size_t end, std::size_t chunk) {
                 sums[chunk % threads * 16] = sum_of(from.data() + begin, end - begin);
               });
  return rates;
}

/// The sizes that prediction depends on.
struct Shape {
  std::size_t d, h, networks, open, outputs, classes;
  bool shared;
  GateKind gates;
};

inline Shape shape_of(const Model& model) {
  return {model.dimensions,
          model.encoder.is_identity() ? 0 : model.encoder.weights.rows(),
          model.gates.networks,
          model.gates.open,
          model.outputs(),
          model.classes.names.size(),
          !model.shared.empty(),
          model.gates.kind};
}

/// The default model of CUB, and that of the paper there.
inline Shape default_shape() { return {2048, 64, 100, 10, 149, 200, true, GateKind::anchor}; }
inline Shape paper_shape() { return {2048, 400, 200, 40, 312, 200, false, GateKind::energy}; }

/// A model of random weights; targets semantics, so that a class is described by as many values as f has.
inline Model random_model(const Shape& s) {
  Rng rng(7);
  const auto random = [&](std::size_t rows, std::size_t cols, double scale) {
    Matrix<float> values(rows, cols);
    for (float& v : values.values()) v = static_cast<float>(scale * (rng.uniform() - 0.5));
    return values;
  };
  Model model;
  model.dimensions = s.d;
  model.feature_preprocess.mean.assign(s.d, 0.01f);
  model.encoder.weights = random(s.h, s.d, 0.1);
  model.networks_see_encoding = true;
  model.gates.kind = s.gates;
  model.gates.networks = s.networks;
  model.gates.open = s.open;
  if (s.gates == GateKind::anchor) model.gates.anchors = random(s.networks, s.h, 0.4);
  model.networks = random(s.networks * (s.h + 1), s.outputs, 0.1);
  if (s.shared) model.shared = random(s.d, s.outputs, 0.1);
  model.bias.assign(s.outputs, 0.1f);
  model.semantic_centre.assign(s.outputs, 0.01f);
  model.classes.semantics = random(s.classes, s.outputs, 1);
  for (std::size_t c = 0; c < s.classes; ++c) {
    model.classes.names.push_back("c" + std::to_string(c));
    model.classes.seen.push_back(c % 4 != 0);
  }
  model.gamma = 0.1;
  model.temperature = 0.05;
  return model;
}

/// Non-negative values with many zeros, as features are.
inline Matrix<float> random_features(std::size_t rows, std::size_t d) {
  Rng rng(11);
  Matrix<float> x(rows, d);
  for (float& v : x.values()) v = std::max(0.0f, static_cast<float>(rng.uniform() - 0.3));
  return x;
}

/// Floating-point operations of one sample: five per feature of preprocessing, then the products.
inline double flops_of(const Shape& s) {
  const auto n = [](std::size_t v) { return static_cast<double>(v); };
  const double z = s.h == 0 ? n(s.d) : n(s.h);
  return 5 * n(s.d) + 2 * n(s.h) * n(s.d) + (s.gates == GateKind::anchor ? 2 * n(s.networks) * z : 3 * z) +
         (s.shared ? 2 * n(s.d) * n(s.outputs) : 0) + 2 * n(s.open) * (z + 1) * n(s.outputs) +
         2 * n(s.classes) * n(s.outputs);
}

/// Bytes of the weights that one sample reads.
inline double bytes_of(const Shape& s) {
  const auto n = [](std::size_t v) { return static_cast<double>(v); };
  const double z = s.h == 0 ? n(s.d) : n(s.h);
  return sizeof(float) * (n(s.d) + n(s.h) * n(s.d) + (s.gates == GateKind::anchor ? n(s.networks) * z : 0) +
                          (s.shared ? n(s.d) * n(s.outputs) : 0) + n(s.open) * (z + 1) * n(s.outputs) +
                          n(s.classes) * n(s.outputs));
}

struct BatchTime {
  std::size_t samples = 0;
  double seconds = 0, share_of_peak = 0;  ///< share_of_peak: of what flops_of() takes at the rate of a GEMM
};

struct SampleTime {
  double seconds = 0, times_bound = 0;  ///< times_bound: how often the time in which bytes_of() are read
};

inline BatchTime measure_batch(const Predictor& predictor, const Model& model, MatrixView<const float> x,
                               ThreadPool& pool, const MachineRates& rates, int repeats) {
  const Ranking ranking(model);
  std::vector<RankedClass> best(x.rows());
  BatchTime time{x.rows(), shortest(repeats, [&] { predictor.rank(x, ranking, pool, best); }), 0};
  time.share_of_peak = flops_of(shape_of(model)) * static_cast<double>(x.rows()) / time.seconds / rates.flops;
  return time;
}

/// The median over samples one by one, so that all networks are touched.
inline SampleTime measure_sample(const Predictor& predictor, const Model& model, MatrixView<const float> x,
                                 ThreadPool& pool, const MachineRates& rates) {
  const Ranking ranking(model);
  std::vector<RankedClass> best(1);
  std::vector<double> seconds;
  for (int round = 0; round < 2; ++round)  // the first warms up
    for (std::size_t i = 0; i < x.rows(); ++i) {
      const double time = seconds_of([&] { predictor.rank({x.row(i).data(), 1, x.cols()}, ranking, pool, best); });
      if (round > 0) seconds.push_back(time);
    }
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  SampleTime time{seconds[seconds.size() / 2], 0};
  time.times_bound = time.seconds / (bytes_of(shape_of(model)) / rates.read);
  return time;
}

}  // namespace parsnets::bench
