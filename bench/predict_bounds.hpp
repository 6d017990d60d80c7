#pragma once
// Prediction against what the machine allows: measure_machine() gives the rates of the machine, measure_batch() and
// measure_sample() the times of a model beside the bounds that these rates set.

#include <time.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/matrix_product.hpp"
#include "base/rng.hpp"
#include "base/row_products.hpp"
#include "parsnets/model.hpp"
#include "parsnets/predictor.hpp"

namespace bench {

using namespace parsnets;

/// Wall clock, and processor time of all threads: the latter leaves out what others did on the machine meanwhile.
struct Spent {
  double wall = std::numeric_limits<double>::infinity(), processor = std::numeric_limits<double>::infinity();
};

inline double clock_seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline Spent time_of(const std::function<void()>& work) {
  const double wall = clock_seconds(CLOCK_MONOTONIC), processor = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return {clock_seconds(CLOCK_MONOTONIC) - wall, clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - processor};
}

/// The shortest of each.
inline Spent shortest(int repeats, const std::function<void()>& work) {
  Spent least;
  for (int i = 0; i < repeats; ++i) {
    const Spent one = time_of(work);
    least = {std::min(least.wall, one.wall), std::min(least.processor, one.processor)};
  }
  return least;
}

/// So much work per second of the wall clock, and as it would be if all threads had a processor to themselves.
struct Rate {
  double wall = 0, processor = 0;
};

inline Rate rate_of(double work, const Spent& spent, std::size_t threads) {
  return {work / spent.wall, work / spent.processor * static_cast<double>(threads)};
}

struct MachineRates {
  Rate flops;         ///< of a float32 GEMM of 1024 x 1024 x 1024 per thread, all threads together
  Rate copied, read;  ///< bytes of 256 MB; a copied byte is read and written
};

/// Adds in 64 lanes, so that loads and not additions set the pace.
PARSNETS_SIMD inline float sum_of(const float* values, std::size_t count) {
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
    const Spent spent = shortest(repeats, [&] {
      pool.parallel_for(threads, 1, [&](std::size_t t, std::size_t, std::size_t) {
        const std::size_t first = t * kSide * kSide;
        gemm<float>(Trans::no, Trans::no, kSide, kSide, kSide, 1, a.data() + first, kSide, b.data() + first, kSide, 0,
                    c.data() + first, kSide);
      });
    });
    rates.flops = rate_of(2.0 * kSide * kSide * kSide * static_cast<double>(threads), spent, threads);
  }
  Matrix<float> from(1, kFloats, 1.0f), to(1, kFloats, 0.0f);
  std::vector<float> sums(threads * 16);  // a cache line each
  const auto rate_of_parts = [&](const std::function<void(std::size_t, std::size_t, std::size_t)>& part) {
    return rate_of(static_cast<double>(kFloats) * sizeof(float),
                   shortest(repeats, [&] { pool.parallel_for(kFloats, kFloats / threads, part); }), threads);
  };
  rates.copied = rate_of_parts([&](std::size_t begin, std::size_t end, std::size_t) {
    std::memcpy(to.data() + begin, from.data() + begin, (end - begin) * sizeof(float));
  });
  rates.read = rate_of_parts([&](std::size_t begin, std::size_t end, std::size_t chunk) {
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
  return {model.dimensions,      model.encoder.is_identity() ? 0 : model.encoder.weights.rows(),
          model.gates.networks,  model.gates.open,
          model.outputs(),       model.classes.names.size(),
          !model.shared.empty(), model.gates.kind};
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
  return sizeof(float) *
         (n(s.d) + n(s.h) * n(s.d) + (s.gates == GateKind::anchor ? n(s.networks) * z : 0) +
          (s.shared ? n(s.d) * n(s.outputs) : 0) + n(s.open) * (z + 1) * n(s.outputs) + n(s.classes) * n(s.outputs));
}

struct BatchTime {
  Spent spent;
  Rate share_of_peak;  ///< 1: flops_of() at the rate of a GEMM
};

struct SampleTime {
  Spent spent;
  Rate times_bound;  ///< 1: as long as reading bytes_of() takes
};

inline BatchTime measure_batch(const Predictor& predictor, const Model& model, MatrixView<const float> x,
                               ThreadPool& pool, const MachineRates& rates, int repeats) {
  const Ranking ranking(model);
  std::vector<RankedClass> best(x.rows());
  BatchTime time;
  time.spent = shortest(repeats, [&] { predictor.rank(x, ranking, pool, best); });
  const Rate found = rate_of(flops_of(shape_of(model)) * static_cast<double>(x.rows()), time.spent, pool.size());
  time.share_of_peak = {found.wall / rates.flops.wall, found.processor / rates.flops.processor};
  return time;
}

/// The median over samples one by one, so that all networks are touched.
inline SampleTime measure_sample(const Predictor& predictor, const Model& model, MatrixView<const float> x,
                                 ThreadPool& pool, const MachineRates& rates) {
  const Ranking ranking(model);
  std::vector<RankedClass> best(1);
  std::vector<double> wall, processor;
  for (int round = 0; round < 3; ++round)  // the first warms up
    for (std::size_t i = 0; i < x.rows(); ++i) {
      const Spent one = time_of([&] { predictor.rank({x.row(i).data(), 1, x.cols()}, ranking, pool, best); });
      if (round == 0) continue;
      wall.push_back(one.wall);
      processor.push_back(one.processor);
    }
  const auto median = [](std::vector<double>& values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
  };
  SampleTime time;
  time.spent = {median(wall), median(processor)};
  const double bytes = bytes_of(shape_of(model));
  time.times_bound = {time.spent.wall * rates.read.wall / bytes, time.spent.processor * rates.read.processor / bytes};
  return time;
}

}  // namespace bench
