// How the cost of default training and of prediction grows with the data: one size of a generated set is doubled twice
// while the others stay, and a power is fitted to the processor time of one thread.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "data/sample_set.hpp"
#include "data/synth.hpp"
#include "harness.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/training.hpp"

namespace bench {

namespace {

using namespace parsnets;

constexpr int kDoublings = 2;

/// Base sizes with gated networks: 64 seen classes or more.
SynthOptions base_sizes(bool quick) {
  SynthOptions sizes;
  sizes.samples = quick ? 2000 : 5000;
  sizes.dimensions = quick ? 256 : 512;
  sizes.classes = 100;
  sizes.attributes = 100;
  return sizes;
}

/// Processor time of default training, and of the prediction of all its samples.
struct Costs {
  double train = 0, predict = 0;
};

Costs costs_of(const SynthOptions& sizes, int samples) {
  const Dataset data = synthesize(sizes);
  ThreadPool pool(1);
  Model model;
  Costs costs;
  costs.train = least_of(samples, user_seconds, [&] { model = train(data, {}, pool); });
  const Predictor predictor(model, pool);
  double sum = 0;
  costs.predict = least_of(3 * samples, user_seconds, [&] {
    predictor.visit_scores(data.features.view(), pool,
                           [&](std::size_t, MatrixView<const float> rows) { sum += rows(0, 0); });
  });
  if (!std::isfinite(sum)) throw Error(ErrorCode::failure, "scores are not finite");
  return costs;
}

/// The slope of log2(cost) over the number of doublings, by least squares.
double exponent_of(const std::vector<double>& costs) {
  const double middle = (static_cast<double>(costs.size()) - 1) / 2;
  double product = 0, square = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    product += x * std::log2(costs[i]);
    square += x * x;
  }
  return product / square;
}

}  // namespace

json measure_growth(const Settings& settings) {
  const int samples = settings.quick ? 1 : 3;
  const SynthOptions base = base_sizes(settings.quick);
  const Costs first = costs_of(base, samples);
  json rows = json::array();
  fmt::print(
      "\nGrowth from {} samples, {} dimensions, {} classes, {} attributes: training {:.2f} s, prediction {:.3f} s\n",
      base.samples, base.dimensions, base.classes, base.attributes, first.train, first.predict);
  for (const auto& [name, size] : {std::pair("samples", &SynthOptions::samples),
                                   {"dimensions", &SynthOptions::dimensions},
                                   {"classes", &SynthOptions::classes},
                                   {"attributes", &SynthOptions::attributes}}) {
    std::vector<double> train{first.train}, predict{first.predict};
    std::vector<int> sizes{base.*size};
    for (int doubling = 0; doubling < kDoublings; ++doubling) {
      SynthOptions larger = base;
      larger.*size = 2 * sizes.back();
      sizes.push_back(larger.*size);
      const Costs costs = costs_of(larger, samples);
      train.push_back(costs.train);
      predict.push_back(costs.predict);
    }
    rows.push_back({{"quantity", name},
                    {"sizes", sizes},
                    {"train_user_seconds", train},
                    {"train_exponent", exponent_of(train)},
                    {"predict_user_seconds", predict},
                    {"predict_exponent", exponent_of(predict)}});
    fmt::print("  {:<12}{}: training {:.2f} s, exponent {:.2f}; prediction {:.3f} s, exponent {:.2f}\n", name,
               fmt::join(sizes, ", "), fmt::join(train, ", "), exponent_of(train), fmt::join(predict, ", "),
               exponent_of(predict));
    std::fflush(stdout);
  }
  return {{"samples", base.samples},
          {"dimensions", base.dimensions},
          {"classes", base.classes},
          {"attributes", base.attributes},
          {"rows", rows}};
}

}  // namespace bench
