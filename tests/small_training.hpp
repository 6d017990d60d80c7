#pragma once
// A data set small enough to train on in a test, and options that fit it.

#include "parsnets/synth.hpp"
#include "parsnets/training.hpp"

namespace parsnets::test {

inline Dataset small_training_set(std::uint64_t seed = 3) {
  SynthOptions options;
  options.classes = 16;
  options.attributes = 20;
  options.samples = 960;
  options.dimensions = 48;
  options.hidden = 64;
  options.attribute_noise = 0.3;
  options.signature = 0.2;
  options.nuisance = 0.3;
  options.seed = seed;
  return synthesize(options);
}

inline TrainOptions small_options(Method method) {
  TrainOptions options;
  options.method = method;
  options.encoder.dimensions = 24;
  options.gates.networks = 8;
  if (method != Method::mmg) options.gates.open = 3;  // mmg: all
  if (method == Method::dap) options.preprocessing.semantic_scaling = SemanticScaling::binary;
  return options;
}

/// A model trained on that data set.
struct TrainedModel {
  Dataset data = small_training_set();
  ThreadPool pool{1};
  Model model;
  explicit TrainedModel(const TrainOptions& options) : model(train(data, options, pool)) {}
  explicit TrainedModel(Method method) : TrainedModel(small_options(method)) {}
};

}  // namespace parsnets::test
