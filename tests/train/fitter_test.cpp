// What the stages of a fit owe each other: the outputs that descent works on are those of the model, and nothing that
// is kept between fits changes their result.

#include "train/fitter.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "data/rows.hpp"
#include "parsnets/error.hpp"
#include "small_training.hpp"
#include "train/train_options.hpp"

namespace parsnets {
namespace {

TEST(Fitter, DescentSeesTheOutputsThatTheModelGives) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  Fitter fitter(data, data.split.trainval, pool, nullptr);
  const Matrix<float> x = gather_rows(data.features.view(), data.split.trainval);
  int tried = 0;
  for (const Fit fit : {Fit::ridge, Fit::svr})
    for (const GateKind gates : {GateKind::always, GateKind::anchor, GateKind::energy})
      for (const NetworkInput input : {NetworkInput::encoding, NetworkInput::features})
        for (const bool shared : {false, true})
          for (const bool relu : {false, true}) {
            auto options = test::small_options(Method::parsnets);
            options.fit.kind = fit;
            options.gates.kind = gates;
            options.fit.input = input;
            options.fit.shared = shared;
            options.fit.relu = relu;
            options.fit.lambda = 1;
            options.refinement.steps = 2;
            options.fit.max_passes = 5;
            options = resolve_options(options, data);
            try {
              validate(options);
            } catch (const Error&) {
              continue;  // does not go together, and is refused
            }
            ++tried;
            SCOPED_TRACE(train_option_table(options).to_json().dump());
            fitter.fit(options, {}, nullptr, [&](int, Model& model, const DescentOutputs& outputs) {
              const MatrixView<const float> f = outputs.f;
              const Matrix<float> predicted = model.predict(x.view(), pool);
              double worst = 0, size = 0;
              for (std::size_t i = 0; i < f.size(); ++i) {
                worst = std::max(worst, static_cast<double>(std::fabs(f.data()[i] - predicted.data()[i])));
                size = std::max(size, static_cast<double>(std::fabs(f.data()[i])));
              }
              EXPECT_LT(worst, 1e-4 * size);
              return true;
            });
          }
  EXPECT_GE(tried, 20);
}

TEST(Fitter, RefinementRefusesAMemoryLimitItCannotKeep) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(1);
  Fitter fitter(data, data.split.trainval, pool, nullptr);
  auto options = test::small_options(Method::ridge);
  options.refinement.steps = 2;
  options.run.memory_limit = 1000;
  options = resolve_options(options, data);
  try {
    fitter.fit(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("memory-limit"), std::string::npos);
  }
}

TEST(Fitter, WhatWasFittedInBetweenDoesNotChangeAFit) {
  for (const std::size_t samples : {std::size_t{960}, std::size_t{64}}) {  // 64: fewer samples than features
    SynthOptions synth;
    synth.classes = 8;
    synth.samples = samples;
    synth.dimensions = 60;
    const Dataset data = synthesize(synth);
    ThreadPool pool(1);
    Fitter fitter(data, data.split.trainval, pool, nullptr);
    for (const Method method : {Method::ridge, Method::eszsl, Method::sae}) {
      TrainOptions first, other;
      first.method = method;
      first.refinement.steps = 3;
      other.method = Method::reverse_ridge;  // remakes the inputs and asks for nothing that looks at them
      other.preprocessing.feature_scaling = FeatureScaling::standardize;
      other.preprocessing.semantic_scaling = SemanticScaling::standardize;
      first = resolve_options(first, data);
      other = resolve_options(other, data);
      const Model before = fitter.fit(first);
      fitter.fit(other);
      const Model after = fitter.fit(first);
      EXPECT_EQ(std::memcmp(before.networks.data(), after.networks.data(), before.networks.size() * sizeof(float)), 0);
    }
  }
}

}  // namespace
}  // namespace parsnets
