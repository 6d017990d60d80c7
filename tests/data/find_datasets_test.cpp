#include "data/find_datasets.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "data/tiny_dataset.hpp"
#include "formats/array_files.hpp"
#include "formats/npy.hpp"
#include "shared_data.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Names names_of(const std::vector<FoundDataset>& found) {
  Names names;
  for (const auto& one : found) names.push_back(one.name);
  return names;
}

}  // namespace

TEST(FindDatasets, FoldersAreFoundByTheirFilesAndSortedByPath) {
  test::TempDir dir;
  save_dataset(test::tiny_dataset(), dir / "b/CUB", DataFormat::npy);  // known by its contents alone
  test::save_xlsa17(test::tiny_dataset(), dir / "a");
  save_dataset(test::tiny_dataset(), dir / "1/2/3", DataFormat::csv);
  save_dataset(test::tiny_dataset(), dir / "1/2/3/4", DataFormat::csv);  // too deep
  save_dataset(test::tiny_dataset(), dir / ".hidden", DataFormat::npy);
  fs::create_directories(dir / "other");
  write_text_file(dir / "other/table.csv", "class,a\nx,1\n");  // neither split nor labels
  fs::create_directory_symlink(dir.path(), dir / "b/loop");
  fs::create_directory_symlink(dir / "b/CUB", dir / "a_link");
  const auto found = find_datasets(dir.path());
  EXPECT_EQ(names_of(found), (Names{"3", "a", "CUB"}));
  for (const auto& one : found) {
    EXPECT_EQ(one.problem, "") << one.folder;
    EXPECT_EQ(one.known_as, "");
    EXPECT_TRUE(one.notes.empty());
    EXPECT_TRUE(missing_files(one).empty());
    const Dataset loaded = load_dataset(one.folder, {.features = one.features.at(0), .semantics = one.semantics.at(0)});
    EXPECT_EQ(loaded.labels, test::tiny_dataset().labels) << one.folder;
  }
  EXPECT_EQ(names_of(find_datasets(dir / "a/")), Names{"a"});
  EXPECT_THROW(find_datasets(dir / "nowhere"), Error);
}

TEST(FindDatasets, FilesAreListedAsValuesOfTheOptions) {
  test::TempDir dir;
  const Dataset data = test::tiny_dataset();
  save_dataset(data, dir.path(), DataFormat::npy);
  write_npy(dir / "clip.npy", data.features.view());
  write_npy(dir / "words.npy", data.semantics.values.view());
  const FoundDataset plain = find_datasets(dir.path()).at(0);
  EXPECT_EQ(plain.features, (Names{"clip", "features"}));
  EXPECT_EQ(plain.semantics, (Names{"attributes", "words"}));

  test::TempDir mat;
  test::save_xlsa17(data, mat.path());
  fs::copy(mat / "att_splits.mat", mat / "a_splits.mat");
  fs::copy(mat / "att_splits.mat", mat / "other.mat");  // no features in it
  write_npy(mat / "clip.npy", data.features.view());
  write_npy(mat / "words.npy", data.semantics.values.view());
  const FoundDataset xlsa17 = find_datasets(mat.path()).at(0);
  EXPECT_EQ(xlsa17.features.size(), 2u);
  EXPECT_EQ(xlsa17.features[0], "clip");
  EXPECT_EQ(xlsa17.problem, "");
  EXPECT_EQ(xlsa17.semantics, (Names{"att", "a", "words"}));
}

TEST(FindDatasets, WhatIsMissingIsSaid) {
  test::TempDir dir;
  const Dataset data = test::tiny_dataset();
  for (const char* name : {"features", "labels", "split", "rows"}) save_dataset(data, dir / name, DataFormat::npy);
  fs::remove(dir / "features/features.npy");
  fs::remove(dir / "labels/labels.npy");
  fs::remove(dir / "split/split.json");
  Matrix<float> fewer(79, 4, 1.0f);
  write_npy(dir / "rows/features.npy", fewer.view());
  for (const auto& one : find_datasets(dir.path()))
    EXPECT_TRUE(test::contains(one.problem, one.name == "rows" ? "80 samples" : one.name));
}

TEST(FindDatasets, APublicSetWithoutFeaturesNamesTheFileThatItLacks) {
  for (const auto& [name, samples] : {std::pair("APY", 15339), {"AWA1", 30475}, {"AWA2", 37322}, {"SUN", 14340}}) {
    const auto folder = test::shared_data(name);
    if (!folder) GTEST_SKIP() << test::kNoSharedData;
    const FoundDataset found = find_datasets(*folder).at(0);
    EXPECT_EQ(found.known_as, name);
    EXPECT_TRUE(found.problem.starts_with("no features: ")) << found.problem;
    EXPECT_TRUE(found.notes.empty()) << found.notes.front();
    const auto missing = missing_files(found);
    ASSERT_EQ(missing.size(), 1u);
    EXPECT_EQ(missing[0].file, "res101.mat");
    EXPECT_EQ(missing[0].contents, "features 2048 x " + std::to_string(samples) + " and labels");
    EXPECT_TRUE(test::contains(missing[0].source, "xlsa17.zip"));
    EXPECT_EQ(missing[0].sha256, "");
  }
}

TEST(FindDatasets, AnotherVersionOfAPublicFileIsNoted) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  EXPECT_TRUE(find_datasets(*folder).at(0).notes.empty());
  EXPECT_EQ(find_datasets(*folder).at(0).problem, "");
  test::TempDir dir;
  test::save_xlsa17(load_dataset(*folder, {.require_features = false, .read_features = false}), dir / "CUB");
  const FoundDataset rewritten = find_datasets(dir.path()).at(0);
  EXPECT_EQ(rewritten.known_as, "CUB");
  ASSERT_EQ(rewritten.notes.size(), 1u);
  EXPECT_TRUE(test::contains(rewritten.notes[0], "3e4080e79b4049fcbc41b648f1c45f54"));
}

TEST(FindDatasets, FloIsToldByItsSizesAlone) {
  Dataset data = synthesize({.classes = 102, .samples = 8189, .dimensions = 2, .hidden = 2});
  data.generated = false;
  ASSERT_EQ(data.samples(), 8189u);
  test::TempDir dir;
  test::save_xlsa17(data, dir.path());
  const Dataset loaded = load_dataset(dir.path());
  EXPECT_EQ(loaded.known_as, "FLO");
  EXPECT_EQ(loaded.split.proposed_of, "");
  const FoundDataset found = find_datasets(dir.path()).at(0);
  EXPECT_EQ(found.known_as, "FLO");
  EXPECT_TRUE(found.notes.empty());
  const auto missing = missing_files(found);
  ASSERT_EQ(missing.size(), 1u);  // its features are in another file
  EXPECT_EQ(missing[0].contents, "features 2048 x 8189 and labels");
  EXPECT_EQ(missing[0].bytes, 0u);
}

TEST(KnownSets, AreRecognisedWhateverTheFolderIsCalled) {
  for (const char* name : {"APY", "AWA1", "AWA2", "CUB", "SUN"}) {
    const auto folder = test::shared_data(name);
    if (!folder) GTEST_SKIP() << test::kNoSharedData;
    test::TempDir dir;
    std::filesystem::copy(*folder + "/att_splits.mat", dir / "att_splits.mat");
    const Dataset data = load_dataset(dir.path(), {.require_features = false});
    EXPECT_EQ(data.known_as, name);
    EXPECT_EQ(data.split.proposed_of, name);
    EXPECT_EQ(data.split.version, std::string("Proposed Split v1 of ") + name);
  }
}

TEST(KnownSets, AreRecognisedAfterConversionUnlessTheirFeaturesAreGenerated) {
  const auto folder = test::shared_data("SUN");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  const Dataset sun = load_dataset(*folder, {.require_features = false});
  Dataset data = synthesize({.dimensions = 2, .hidden = 2}, &sun);
  for (const bool generated : {false, true}) {
    data.generated = generated;
    test::TempDir dir;
    save_dataset(data, dir.path(), DataFormat::npy);
    const Dataset loaded = load_dataset(dir.path());
    EXPECT_EQ(loaded.generated, generated);
    EXPECT_EQ(loaded.known_as, generated ? "" : "SUN");
    EXPECT_EQ(loaded.split.proposed_of, generated ? "" : "SUN");
    EXPECT_EQ(loaded.split.version, generated ? "" : "Proposed Split v1 of SUN");
  }
}

TEST(KnownSets, AnotherSplitOfAKnownSetIsNotTheProposedOne) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  Dataset data = load_dataset(*folder, {.require_features = false});
  data.split.version.clear();
  data.split.proposed_of.clear();
  std::swap(data.split.test_unseen[0], data.split.trainval[0]);
  recognise(data);
  EXPECT_EQ(data.known_as, "CUB");
  EXPECT_EQ(data.split.proposed_of, "");
  EXPECT_EQ(data.split.version, "");
}

}  // namespace parsnets
