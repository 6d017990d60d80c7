#include "train/place_samples.hpp"

#include <gtest/gtest.h>

#include "base/machine.hpp"
#include "data/synth.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

TEST(PlaceSamples, SamplesAreStreamedWhenTheLimitIsTooLowForThemUnlessAllAreNeeded) {
  // Many samples of few values: what decides is their number.
  const Dataset data = synthesize({.classes = 10, .attributes = 8, .samples = 40000, .dimensions = 64, .hidden = 8});
  TrainOptions options = resolve_options(test::options_with("parsnets", "networks=0"), data);
  EXPECT_TRUE(place_samples(options, data, nullptr).kept);
  options.run.memory_limit = held_memory() + (std::uint64_t{4} << 30);
  EXPECT_TRUE(place_samples(options, data, nullptr).kept);
  options.run.memory_limit = held_memory() + (std::uint64_t{14} << 20);
  const SamplePlace place = place_samples(options, data, nullptr);
  EXPECT_FALSE(place.kept);
  EXPECT_GE(place.block_rows, 256u);
  options.run.memory_limit = 1 << 20;
  EXPECT_THROW(place_samples(options, data, nullptr), Error);
  options = resolve_options(test::options_with("paper"), data);
  options.run.memory_limit = held_memory() + (std::uint64_t{14} << 20);
  EXPECT_TRUE(place_samples(options, data, nullptr).kept) << "the paper's method needs all samples";
}

}  // namespace
}  // namespace parsnets
