#include "train/place_samples.hpp"

#include <gtest/gtest.h>

#include "base/memory_limit.hpp"
#include "parsnets/error.hpp"
#include "parsnets/synth.hpp"
#include "parsnets/training.hpp"

namespace parsnets {
namespace {

/// Many samples of few values: what decides is their number.
Dataset many_samples() {
  SynthOptions options;
  options.classes = 10;
  options.samples = 40000;
  options.dimensions = 64;
  options.attributes = 8;
  options.hidden = 8;
  return synthesize(options);
}

TEST(PlaceSamples, SamplesAreStreamedWhenTheLimitIsTooLowForThem) {
  const Dataset data = many_samples();
  TrainOptions options;
  options.gates.kind = GateKind::always;
  options = resolve_options(options, data);
  EXPECT_FALSE(place_samples(options, data, nullptr).streamed);
  options.run.memory_limit = held_memory() + (std::uint64_t{4} << 30);
  EXPECT_FALSE(place_samples(options, data, nullptr).streamed);
  options.run.memory_limit = held_memory() + (std::uint64_t{14} << 20);
  const SamplePlace place = place_samples(options, data, nullptr);
  EXPECT_TRUE(place.streamed);
  EXPECT_GE(place.block_rows, 256u);
  options.run.memory_limit = 1 << 20;
  EXPECT_THROW(place_samples(options, data, nullptr), Error);
}

TEST(PlaceSamples, WhatNeedsAllSamplesIsNotStreamed) {
  const Dataset data = many_samples();
  TrainOptions options;
  options.geometry.weight = 0.1;
  options = resolve_options(options, data);
  options.run.memory_limit = held_memory() + (std::uint64_t{14} << 20);
  EXPECT_FALSE(place_samples(options, data, nullptr).streamed);
}

}  // namespace
}  // namespace parsnets
