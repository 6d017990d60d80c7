#include "parsnets/dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/linalg.hpp"
#include "data/inspect.hpp"
#include "data/split.hpp"
#include "data/tiny_dataset.hpp"
#include "formats/array_files.hpp"
#include "shared_data.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

Dataset small_dataset() {
  Dataset data = synthesize({.classes = 12, .attributes = 7, .samples = 120, .dimensions = 9, .hidden = 8});
  for (std::size_t i = 0; i < data.samples(); ++i) data.image_files.push_back("images/ü " + std::to_string(i) + ".jpg");
  data.class_names[0] = "grizzly, \"brown\" bear";
  return data;
}

void expect_equal(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.features.rows(), b.features.rows());
  ASSERT_EQ(a.features.cols(), b.features.cols());
  for (std::size_t i = 0; i < a.features.size(); ++i) ASSERT_EQ(a.features.data()[i], b.features.data()[i]) << i;
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.class_names, b.class_names);
  EXPECT_EQ(a.image_files, b.image_files);
  EXPECT_EQ(a.semantics.attribute_names, b.semantics.attribute_names);
  for (std::size_t i = 0; i < a.semantics.values.size(); ++i)
    ASSERT_EQ(a.semantics.values.data()[i], b.semantics.values.data()[i]);
  for (const auto list : {&Split::trainval, &Split::test_seen, &Split::test_unseen, &Split::train, &Split::val})
    EXPECT_EQ(index_checksum(a.split.*list), index_checksum(b.split.*list));
}

}  // namespace

TEST(Dataset, EveryFormatReadsBackToTheSameDataSet) {
  const Dataset data = small_dataset();
  for (const std::string format : {"npy", "npz", "csv", "mat5", "mat5-uncompressed", "mat73"}) {
    SCOPED_TRACE(format);
    test::TempDir dir;
    test::save_as(data, dir.path(), format);
    expect_equal(data, load_dataset(dir.path()));
  }
}

TEST(Dataset, ListsThatClassesDoNotExpressSurviveInAPlainFolder) {
  Dataset data = small_dataset();
  data.split.trainval.pop_back();
  data.split.train.erase(data.split.train.begin());
  test::TempDir dir;
  save_dataset(data, dir.path(), DataFormat::npy);
  expect_equal(data, load_dataset(dir.path()));
}

TEST(Dataset, AValidationSetThatWasDrawnStaysDrawn) {
  Dataset data = small_dataset();
  data.split.train.clear();
  data.split.val.clear();
  derive_validation(data.split, data.labels, {}, 1);
  std::reverse(data.split.trainval.begin(), data.split.trainval.end());
  for (const std::string format : {"npy", "mat5"}) {
    test::TempDir dir;
    test::save_as(data, dir.path(), format);
    const Dataset loaded = load_dataset(dir.path());
    EXPECT_TRUE(loaded.split.validation_drawn);
    EXPECT_EQ(loaded.split.validation_from, data.split.validation_from);
    EXPECT_EQ(loaded.split.trainval, data.split.trainval) << "in this order";
    expect_equal(data, loaded);
  }
}

TEST(Dataset, ClassesWithoutNamesAreNumberedAndThatIsSaid) {
  const Dataset data = small_dataset();
  test::TempDir dir;
  const auto& values = data.semantics.values;
  const Matrix<double> att = to_double(values.view());
  const std::vector<double> trainval{1, 2}, unseen{3, 4};
  test::ArrayFile()
      .add("att", att.view())
      .add("trainval_loc", MatrixView<const double>(trainval.data(), 1, 2))
      .add("test_unseen_loc", MatrixView<const double>(unseen.data(), 1, 2))
      .write_mat(dir / "att_splits.mat", test::MatVersion::v5);
  const Dataset loaded = load_dataset(dir.path(), {.require_features = false});
  EXPECT_EQ(loaded.class_names.size(), 12u);
  EXPECT_EQ(loaded.class_names.front(), "class_1");
  EXPECT_EQ(loaded.class_names.back(), "class_12");
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_TRUE(test::contains(loaded.notes[0], "allclasses_names"));
  EXPECT_EQ(std::ranges::count(inspect_dataset(loaded).findings, loaded.notes[0], &Finding::text), 1);
}

TEST(Dataset, LabelsMayBeClassNames) {
  const Dataset data = small_dataset();
  test::TempDir dir;
  save_dataset(data, dir.path(), DataFormat::csv);
  std::string labels = "label\n";
  for (const auto label : data.labels)
    labels +=
        (label == 0 ? "\"grizzly, \"\"brown\"\" bear\"" : data.class_names[static_cast<std::size_t>(label)]) + "\n";
  write_text_file(dir / "labels.csv", labels);
  expect_equal(data, load_dataset(dir.path()));
}

TEST(Dataset, ValidationClassesComeFromTheArchivesTextFileWhereTheSplitHasNone) {
  Dataset data = small_dataset();
  data.split.train.clear();
  data.split.val.clear();
  test::TempDir dir;
  test::save_xlsa17(data, dir.path());
  const auto seen = data.seen_classes();
  write_text_file(dir / "valclasses1.txt", data.class_names[static_cast<std::size_t>(seen[1])] + "\r\n" +
                                               data.class_names[static_cast<std::size_t>(seen[2])] + "\n");
  const Dataset loaded = load_dataset(dir.path());
  for (const auto s : loaded.split.val) {
    const auto c = loaded.labels[static_cast<std::size_t>(s)];
    EXPECT_TRUE(c == seen[1] || c == seen[2]);
  }
  EXPECT_EQ(loaded.split.train.size() + loaded.split.val.size(), loaded.split.trainval.size());
  EXPECT_TRUE(test::contains(loaded.split.version, "v2"));
}

TEST(Dataset, TheDemoSetLoadsAndHasEightSeenAndTwoUnseenClasses) {
  const Dataset demo = load_dataset(std::string(PARSNETS_SOURCE_DIR) + "/data/demo");
  EXPECT_EQ(demo.classes(), 10u);
  EXPECT_EQ(demo.seen_classes().size(), 8u);
  EXPECT_EQ(demo.unseen_classes().size(), 2u);
  EXPECT_GE(demo.semantics.values.cols(), 25u);
  EXPECT_FALSE(demo.split.val.empty());
}

TEST(Dataset, CubLoadsWithTheSizesOfTheProposedSplit) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  const Dataset cub = load_dataset(*folder, {.features = "res50"});
  EXPECT_EQ(cub.samples(), 11788u);
  EXPECT_EQ(cub.features.cols(), 2048u);
  EXPECT_EQ(cub.semantics.values.cols(), 312u);
  EXPECT_EQ(cub.seen_classes().size(), 150u);
  EXPECT_EQ(cub.unseen_classes().size(), 50u);
  EXPECT_EQ(cub.split.trainval.size(), 7057u);
  EXPECT_EQ(cub.split.version, "Proposed Split v1 of CUB");
  EXPECT_EQ(load_dataset(*folder, {.features = "res50", .semantics = "sent"}).semantics.values.cols(), 1024u);
}

TEST(Dataset, MissingMarksOfANormalisedTableAreFoundThroughTheOriginalOne) {
  const auto folder = test::shared_data("AWA2");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  const std::size_t normalised = load_dataset(*folder, {.require_features = false}).semantics.missing;
  EXPECT_EQ(load_dataset(*folder, {.original_att = true, .require_features = false}).semantics.missing, normalised);
  EXPECT_GT(normalised, 0u);
}

}  // namespace parsnets
