#include "data/synth.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random_matrix.hpp"
#include "data/tiny_dataset.hpp"
#include "same_bytes.hpp"
#include "shared_data.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

SynthOptions small_synth() { return {.classes = 10, .attributes = 12, .samples = 700, .dimensions = 64, .hidden = 32}; }

/// Share of test-unseen samples whose nearest class mean (of all unseen samples) is their own.
double nearest_mean_accuracy(const Dataset& data) {
  const auto classes = data.unseen_classes();
  Matrix<double> means(classes.size(), data.features.cols(), 0.0);
  std::vector<double> counts(classes.size(), 0);
  for (const auto s : data.split.test_unseen) {
    const auto c = static_cast<std::size_t>(std::ranges::find(classes, data.labels[static_cast<std::size_t>(s)]) -
                                            classes.begin());
    ++counts[c];
    for (std::size_t j = 0; j < means.cols(); ++j) means(c, j) += data.features(static_cast<std::size_t>(s), j);
  }
  std::size_t right = 0;
  for (const auto s : data.split.test_unseen) {
    double best = 1e300;
    std::size_t winner = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      double distance = 0;
      for (std::size_t j = 0; j < means.cols(); ++j)
        distance += std::pow(data.features(static_cast<std::size_t>(s), j) - means(c, j) / counts[c], 2);
      if (distance < best) best = distance, winner = c;
    }
    right += classes[winner] == data.labels[static_cast<std::size_t>(s)] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(data.split.test_unseen.size());
}

}  // namespace

TEST(Synth, WritesTheSameFilesWithoutHoldingTheFeatures) {
  SynthOptions options = small_synth();
  options.samples = 9000;  // some blocks of 16 MB, and rows that are no multiple of a tile or a grain
  options.dimensions = 1000;
  for (const auto format : {DataFormat::npy, DataFormat::csv}) {
    const test::TempDir held, streamed;
    save_dataset(synthesize(options), held.path(), format);
    const Dataset rest = synthesize_to(streamed.path(), format, options);
    EXPECT_TRUE(rest.features.empty());
    EXPECT_EQ(rest.samples(), 9000u);
    for (const auto& entry : std::filesystem::directory_iterator(held.path()))
      EXPECT_TRUE(test::same_file_bytes(entry.path(), streamed.path() / entry.path().filename()));
  }
}

TEST(Synth, TheSameSeedGivesTheSameDataForAnyNumberOfThreads) {
  const Dataset a = synthesize(small_synth(), nullptr, 1);
  EXPECT_TRUE(test::same_bits(a.features, synthesize(small_synth(), nullptr, 2).features));
  SynthOptions other = small_synth();
  other.seed = 2;
  EXPECT_FALSE(test::same_bits(a.features, synthesize(other).features));
  for (const float v : a.features.values()) ASSERT_TRUE(v >= 0 && std::isfinite(v));
}

TEST(Synth, NoiseMakesTheClassesHarderToTell) {
  SynthOptions easy = small_synth(), hard = small_synth();
  easy.attribute_noise = easy.nuisance = 0.1;
  hard.attribute_noise = hard.nuisance = 6;
  EXPECT_GT(nearest_mean_accuracy(synthesize(easy)), 0.99);
  EXPECT_LT(nearest_mean_accuracy(synthesize(hard)), 0.9);
}

TEST(Synth, AGivenSplitDecidesTheSizes) {
  const auto folder = test::shared_data("AWA2");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  const Dataset given = load_dataset(*folder, {.require_features = false});
  const Dataset data = synthesize({.dimensions = 4, .unseen = 10, .hidden = 4}, &given);
  EXPECT_EQ(data.samples(), 37322u);
  EXPECT_EQ(data.seen_classes().size(), 40u);
  EXPECT_EQ(data.unseen_classes().size(), 10u);
  EXPECT_EQ(data.split.trainval.size(), 23527u);
}

TEST(Synth, ImpossibleSizesAreRefused) { EXPECT_THROW(synthesize({.classes = 10, .unseen = 9}), Error); }

}  // namespace parsnets
