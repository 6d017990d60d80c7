// Folders of .mat files with features in other formats beside them.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "base/random_matrix.hpp"
#include "data/sample_files.hpp"
#include "data/tiny_dataset.hpp"
#include "formats/array_files.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "shared_data.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

/// Every class has samples.
Dataset small_xlsa17() {
  Dataset data = test::tiny_dataset();
  data.features_name = "res";
  for (std::size_t i = 0; i < data.samples(); ++i) data.image_files.push_back("image " + std::to_string(i));
  return data;
}

/// Other features of the same samples.
Matrix<float> doubled(const Matrix<float>& features) {
  Matrix<float> twice = Matrix<float>::copy_of(features.view());
  for (float& v : twice.values()) v *= 2;
  return twice;
}

Dataset load_xlsa17(const fs::path& folder, const std::string& features, bool values = true) {
  return load_dataset(folder, {.features = features, .read_features = values});
}

void expect_refusal(const fs::path& folder, const std::string& features, const std::string& part) {
  EXPECT_TRUE(test::contains(test::refusal(folder, {.features = features}), part));
}

/// Without res.mat, but with features as clip.npy.
void save_without_mat(const Dataset& data, const fs::path& folder) {
  test::save_xlsa17(data, folder);
  fs::remove(folder / "res.mat");
  write_npy(folder / "clip.npy", data.features.view());
}

std::vector<std::int32_t> one_based(std::vector<std::int32_t> labels) {
  for (auto& label : labels) ++label;
  return labels;
}

}  // namespace

TEST(Xlsa17, OwnFeaturesTakeTheLabelsOfAMatWithAsManySamples) {
  const Dataset data = small_xlsa17();
  const Matrix<float> clip = doubled(data.features);
  for (const char* ending : {".npy", ".npz", ".csv"}) {
    SCOPED_TRACE(ending);
    test::TempDir dir;
    test::save_xlsa17(data, dir.path());
    const fs::path file = dir / (std::string("clip") + ending);
    if (file.extension() == ".npy") write_npy(file, clip.view());
    if (file.extension() == ".csv") write_csv(file, clip.view());
    if (file.extension() == ".npz") test::ArrayFile().add("features", clip.view()).write_npz(file);
    for (const std::string& name : {std::string("clip"), file.filename().string(), file.string()}) {
      const Dataset loaded = load_xlsa17(dir.path(), name);
      EXPECT_TRUE(test::same_bits(loaded.features, clip));
      EXPECT_EQ(loaded.labels, data.labels);
      EXPECT_EQ(loaded.image_files, data.image_files);
      EXPECT_EQ(loaded.split.trainval, data.split.trainval);
      EXPECT_EQ(loaded.features_name, file.filename().string());
      ASSERT_EQ(loaded.notes.size(), 1u);
      EXPECT_TRUE(test::contains(loaded.notes[0], "those of res.mat"));
    }
    const Dataset described = load_xlsa17(dir.path(), "clip", false);
    EXPECT_EQ(described.labels, data.labels);
    const auto rows = open_feature_rows(described);
    EXPECT_EQ(rows != nullptr, file.extension() != ".csv");
    if (rows != nullptr) {
      EXPECT_EQ(rows->next(80)(79, 3), clip(79, 3));
    }
    EXPECT_EQ(load_xlsa17(dir.path(), "").features_name, "res");  // the only .mat, as without the other file
    expect_refusal(dir.path(), "vgg", "'clip', 'res'");
  }
}

TEST(Xlsa17, LabelsComeFromAFileOrFromTheNpz) {
  const Dataset data = small_xlsa17();
  test::TempDir dir;
  save_without_mat(data, dir.path());
  expect_refusal(dir.path(), "clip", "labels.npy");

  write_npy(dir / "labels.npy", data.labels);
  EXPECT_EQ(load_xlsa17(dir.path(), "").labels, data.labels);  // the only features
  write_npy(dir / "labels.npy", one_based(data.labels));
  EXPECT_EQ(load_xlsa17(dir.path(), "clip").labels, data.labels);
  auto mixed = one_based(data.labels);
  mixed[0] = 0;
  write_npy(dir / "labels.npy", mixed);
  expect_refusal(dir.path(), "clip", "from 0 to 7");
  fs::remove(dir / "labels.npy");

  CsvTable names{{}, {}};
  for (const auto label : data.labels) names.rows.push_back({data.class_names[static_cast<std::size_t>(label)]});
  write_csv(dir / "labels.csv", names);
  EXPECT_EQ(load_xlsa17(dir.path(), "clip").labels, data.labels);
  names.rows.pop_back();
  write_csv(dir / "labels.csv", names);
  expect_refusal(dir.path(), "clip", "79");
  fs::remove(dir / "labels.csv");

  test::ArrayFile().add("features", data.features.view()).add("labels", data.labels).write_npz(dir / "own.npz");
  EXPECT_EQ(load_xlsa17(dir.path(), "own").labels, data.labels);
}

TEST(Xlsa17, ABaseOfLabelsThatNothingTellsIsSaid) {
  Dataset data = small_xlsa17();
  test::TempDir dir;
  save_without_mat(data, dir.path());
  for (auto& label : data.labels) label = label == 0 ? 1 : label;
  write_npy(dir / "labels.npy", data.labels);
  const Dataset loaded = load_dataset(dir.path());
  EXPECT_EQ(loaded.labels, data.labels);
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_TRUE(test::contains(loaded.notes[0], "count from 0"));
}

TEST(Xlsa17, MatFilesThatDisagreeOnLabelsGiveNone) {
  Dataset data = small_xlsa17();
  test::TempDir dir;
  test::save_xlsa17(data, dir.path());
  std::swap(data.labels.front(), data.labels.back());
  data.features_name = "vgg";
  test::save_xlsa17(data, dir.path());
  write_npy(dir / "clip.npy", data.features.view());
  expect_refusal(dir.path(), "clip", "different labels");
  const Matrix<float> fewer(79, 4, 1.0f);
  write_npy(dir / "clip.npy", fewer.view());
  expect_refusal(dir.path(), "clip", "79 samples");
}

TEST(Xlsa17, FilesOfClassesAreNotTakenForFeatures) {
  const Dataset data = small_xlsa17();
  test::TempDir dir;
  save_without_mat(data, dir.path());
  write_npy(dir / "labels.npy", data.labels);
  write_npy(dir / "words.npy", data.semantics.values.view());  // one row per class
  write_text_file(dir / "more.csv", "class,a\nx,1\n");
  EXPECT_EQ(load_xlsa17(dir.path(), "").features_name, "clip.npy");
}

TEST(Xlsa17, CubWithItsFeaturesAsNpyIsTheSameDataSet) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  const Dataset cub = load_xlsa17(*folder, "res50");
  test::TempDir dir;
  fs::create_symlink(*folder + "/att_splits.mat", dir / "att_splits.mat");
  write_npy(dir / "res50.npy", cub.features.view());
  write_npy(dir / "labels.npy", cub.labels);
  const Dataset copy = load_xlsa17(dir.path(), "");
  EXPECT_TRUE(test::same_bits(copy.features, cub.features));
  EXPECT_TRUE(test::same_bits(copy.semantics.values, cub.semantics.values));
  EXPECT_EQ(copy.labels, cub.labels);
  EXPECT_EQ(copy.known_as, "CUB");
  EXPECT_EQ(copy.split.version, cub.split.version);
  for (const auto list : {&Split::trainval, &Split::test_seen, &Split::test_unseen, &Split::train, &Split::val})
    EXPECT_EQ(copy.split.*list, cub.split.*list);
}

}  // namespace parsnets
