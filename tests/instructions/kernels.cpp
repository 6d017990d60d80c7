// Runs each hot kernel once on small drawn inputs, in one thread, for callgrind to count its instructions
// (check_counts.py). Prints what the counts depend on, as JSON.

#include <fmt/format.h>
#include <valgrind/callgrind.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>

#include "base/machine.hpp"
#include "base/rng.hpp"
#include "features/preprocess.hpp"
#include "features/statistics.hpp"
#include "model/composite.hpp"
#include "model/fit_gates.hpp"
#include "model/scoring.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/version.hpp"
#include "solvers/descent_loss.hpp"
#include "solvers/preconditioner.hpp"
#include "solvers/svr.hpp"
#include "solvers/svr_engine.hpp"

namespace {

using namespace parsnets;

constexpr std::size_t kSamples = 400, kDimensions = 96, kEncoding = 40, kNetworks = 20, kOpen = 5, kOutputs = 48,
                      kClasses = 25;

Matrix<float> drawn(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Matrix<float> out(rows, cols);
  Rng rng(seed);
  for (float& v : out.values()) v = static_cast<float>(rng.normal());
  return out;
}

/// Counts what `work` executes, and nothing else, under `name`.
void count(const char* name, const std::function<void()>& work) {
  work();  // symbols are bound and tables are made at the first call
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  work();
  CALLGRIND_DUMP_STATS_AT(name);
  CALLGRIND_STOP_INSTRUMENTATION;
}

/// A model with drawn weights: the runtime executes the same instructions for any.
Model drawn_model() {
  constexpr std::size_t kFeatures = 512;
  Model model;
  model.dimensions = kFeatures;
  model.feature_preprocess.mean.assign(kFeatures, 0.01f);
  model.encoder.weights = drawn(kEncoding, kFeatures, 11);
  model.gates.kind = GateKind::anchor;
  model.gates.networks = kNetworks;
  model.gates.open = kOpen;
  model.gates.anchors = drawn(kNetworks, kEncoding, 12);
  model.networks_see_encoding = true;
  model.networks = drawn(kNetworks * (kEncoding + 1), kOutputs, 13);
  model.shared = drawn(kFeatures, kOutputs, 14);
  model.bias.assign(kOutputs, 0.1f);
  model.semantic_centre.assign(kOutputs, 0.0f);
  model.classes.semantics = drawn(kClasses, kOutputs, 15);
  model.classes.seen.assign(kClasses, 1);
  for (std::size_t c = 0; c < kClasses; ++c) model.classes.names.push_back(std::to_string(c));
  return model;
}

void count_all() {
  ThreadPool pool(1);
  const Matrix<float> features = drawn(kSamples, kDimensions, 1), z = drawn(kSamples, kEncoding, 2),
                      f = drawn(kSamples, kOutputs, 3), classes = drawn(kClasses, kOutputs, 4);
  std::vector<std::int32_t> labels(kSamples), rows(kSamples);
  std::iota(rows.begin(), rows.end(), 0);
  for (std::size_t l = 0; l < kSamples; ++l) labels[l] = static_cast<std::int32_t>(l % kClasses);
  std::vector<std::string> names;
  for (std::size_t c = 0; c < kClasses; ++c) names.push_back(std::to_string(c));

  count("preprocess", [&] {
    preprocessed_rows(fit_feature_preprocess(FeatureScaling::sqrt_l2, features.view(), rows, pool), features.view(),
                      rows, pool);
  });
  count("statistics", [&] {
    Statistics sums(FeatureScaling::sqrt_l2, names, kDimensions);
    sums.add(features.view(), labels, rows, pool);
  });

  GateOptions energy;
  energy.networks = kNetworks;
  energy.open = kOpen;
  GateOptions anchor = energy;
  anchor.kind = GateKind::anchor;
  const auto encodings = [&](std::span<const std::size_t> samples) {
    Matrix<float> some(samples.size(), z.cols());
    for (std::size_t i = 0; i < samples.size(); ++i) std::ranges::copy(z.row(samples[i]), some.row(i).begin());
    return some;
  };
  const Gates energy_gates = fit_gates(energy, z.rows(), z.cols(), encodings, pool),
              anchor_gates = fit_gates(anchor, z.rows(), z.cols(), encodings, pool);
  count("gates, energy", [&] { open_networks(energy_gates, z.view(), pool); });
  count("gates, anchors", [&] { open_networks(anchor_gates, z.view(), pool); });

  const Matrix<std::uint16_t> open = open_networks(anchor_gates, z.view(), pool);
  const Matrix<float> networks = drawn(kNetworks * (kEncoding + 1), kOutputs, 5);
  count("compose", [&] {
    compose(z.view(), open.view(), kNetworks, networks.view(), std::vector<float>(kOutputs, 0.0f), false, pool);
  });
  const SampleBlock all{0, {}, z.view(), open.view(), {}};
  SingleProcess alone;
  const GatedDirection step([&](const auto& take) { take(all); }, kNetworks, 1, alone, pool);
  Matrix<float> moments(networks.rows(), kOutputs, 0.0f);
  count("gated direction", [&] {
    step.add_moments(all, f.view(), networks.view(), false, moments.view(), pool);
    step.direction(moments.view(), 1, 0, networks.view(), pool);
  });

  DescentSamples samples;
  samples.labels = labels;
  samples.semantics = classes.view();
  const LossOfOutputs loss(samples, {}, {}, pool);
  Matrix<float> gradient(kSamples, kOutputs);
  count("descent loss", [&] { loss.evaluate(f.view(), gradient.view()); });

  constexpr std::size_t kBlock = 64;
  Matrix<float> kernel(kBlock, kBlock);
  for (std::size_t i = 0; i < kBlock; ++i)
    for (std::size_t j = 0; j < kBlock; ++j)
      kernel(i, j) = std::exp(-0.05f * std::fabs(static_cast<float>(i) - static_cast<float>(j)));
  Matrix<float> beta(kBlock, kOutputs), delta(kBlock, kOutputs);
  std::vector<double> sum(kOutputs);
  count("SVR block", [&] {
    std::ranges::fill(beta.values(), 0.0f);
    solve_block({kBlock, kOutputs, kernel.data(), f.data(), beta.data(), delta.data(), 1, 0.1f, 2}, 0, kOutputs,
                sum.data());
  });
  const Matrix<float> dual(kSamples, kOutputs, 0.01f), targets = drawn(kSamples, kOutputs, 6);
  std::vector<double> primal(kOutputs), lower(kOutputs);
  std::vector<float> bias(kOutputs);
  count("SVR certificate", [&] {
    evaluate_svr(pool, targets.view(), f.view(), dual.view(), 0.1, 0.1, true, {primal, lower, bias});
  });

  Matrix<float> scores(kSamples, kClasses);
  std::vector<const float*> compared;
  std::vector<float*> to;
  for (std::size_t l = 0; l < kSamples; ++l) {
    compared.push_back(f.row(l).data());
    to.push_back(scores.row(l).data());
  }
  ScoreRoom room;
  count("scores", [&] {
    measure_rows(compared, kOutputs, room);
    score_block(Similarity::cosine, compared, {classes.view(), squared_lengths(classes.view())}, room, to, 0);
  });
  std::vector<std::uint8_t> seen(kClasses, 1);
  const Ranking ranking(seen, 0.1, 0.5, Among::all);
  std::vector<RankedClass> best(5);
  count("ranking", [&] {
    for (std::size_t l = 0; l < kSamples; ++l) ranking.best(scores.row(l), best);
  });

  const Model model = drawn_model();
  const Matrix<float> inputs = drawn(20, model.dimensions, 7);
  const DeviceModel exact(device_file(model, Precision::float32, 0, pool), "float32"),
      rounded(device_file(model, Precision::int8, 0, pool), "int8");
  count("C runtime, float32", [&] { exact.scores(inputs.view(), pool); });
  count("C runtime, int8", [&] { rounded.scores(inputs.view(), pool); });
}

}  // namespace

int main() try {
  count_all();
  fmt::print(R"({{"compiler": "{}", "build_type": "{}", "simd": "{}"}})"
             "\n",
             PARSNETS_COMPILER, PARSNETS_BUILD_TYPE, machine_info().simd);
} catch (const parsnets::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(error.code());
}
