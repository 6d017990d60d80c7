#include "data/known_sets.hpp"

#include <gtest/gtest.h>

#include "parsnets/synth.hpp"
#include "shared_data.hpp"
#include "temp_dir.hpp"

namespace parsnets {

TEST(KnownSets, AreRecognisedWhateverTheFolderIsCalled) {
  for (const char* name : {"APY", "AWA1", "AWA2", "CUB", "SUN"}) {
    const auto folder = test::shared_data(name);
    if (!folder) GTEST_SKIP() << test::kNoSharedData;
    test::TempDir dir;
    std::filesystem::copy(*folder + "/att_splits.mat", dir / "att_splits.mat");
    LoadOptions options;
    options.require_features = false;
    const Dataset data = load_dataset(dir.path(), options);
    EXPECT_EQ(data.known_as, name);
    EXPECT_EQ(data.split.proposed_of, name);
    EXPECT_EQ(data.split.version, std::string("Proposed Split v1 of ") + name);
  }
}

/// Small features for the classes and the split of SUN, written and read again.
Dataset converted_sun(const std::filesystem::path& folder, bool generated) {
  LoadOptions options;
  options.require_features = false;
  const Dataset sun = load_dataset(folder, options);
  SynthOptions synth;
  synth.dimensions = synth.hidden = 2;
  Dataset data = synthesize(synth, &sun);
  data.generated = generated;
  test::TempDir dir;
  save_dataset(data, dir.path(), DataFormat::npy);
  return load_dataset(dir.path());
}

TEST(KnownSets, AreRecognisedAfterConversion) {
  const auto folder = test::shared_data("SUN");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  const Dataset converted = converted_sun(*folder, false);
  EXPECT_EQ(converted.known_as, "SUN");
  EXPECT_EQ(converted.split.version, "Proposed Split v1 of SUN");
}

TEST(KnownSets, GeneratedFeaturesAreNoKnownSetWhateverTheLists) {
  const auto folder = test::shared_data("SUN");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  const Dataset generated = converted_sun(*folder, true);
  EXPECT_TRUE(generated.generated);
  EXPECT_EQ(generated.known_as, "");
  EXPECT_EQ(generated.split.proposed_of, "");
}

TEST(KnownSets, AnotherSplitOfAKnownSetIsNotTheProposedOne) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  LoadOptions options;
  options.require_features = false;
  Dataset data = load_dataset(*folder, options);
  data.split.version.clear();
  data.split.proposed_of.clear();
  std::swap(data.split.test_unseen[0], data.split.trainval[0]);
  recognise(data);
  EXPECT_EQ(data.known_as, "CUB");
  EXPECT_EQ(data.split.proposed_of, "");
  EXPECT_EQ(data.split.version, "");
}

TEST(KnownSets, AFolderIsNotKnownByItsName) {
  SynthOptions synth;
  synth.classes = 8;
  synth.samples = 80;
  synth.dimensions = 4;
  synth.hidden = 4;
  test::TempDir dir;
  save_dataset(synthesize(synth), dir / "CUB", DataFormat::npy);
  const Dataset data = load_dataset(dir / "CUB");
  EXPECT_EQ(data.name, "CUB");
  EXPECT_EQ(data.known_as, "");
}

}  // namespace parsnets
