#include "data/split_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/row_blocks.hpp"
#include "data/tiny_dataset.hpp"
#include "formats/array_files.hpp"
#include "shared_data.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

/// The classes from `first` to `last`, one per line.
void write_list(const fs::path& file, const Dataset& data, std::size_t first, std::size_t last) {
  std::string text;
  for (std::size_t c = first; c <= last; ++c) text += data.class_names[c] + (c % 2 == 0 ? "\n" : "\r\n");
  write_text_file(file, text);
}

void write_lists(const fs::path& folder, const Dataset& data) {
  fs::create_directories(folder);
  write_list(folder / "trainvalclasses.txt", data, 0, 4);
  write_list(folder / "testclasses.txt", data, 5, 6);
}

using Classes = std::vector<std::int32_t>;

Classes classes_of(const Dataset& data, const Classes& samples) { return distinct_labels(samples, data.labels); }

/// With an image of each sample in a folder named after its class, where asked for.
Dataset small(bool images) {
  Dataset data = test::tiny_dataset();
  data.features_name = "res";
  for (std::size_t i = 0; i < data.samples() && images; ++i)
    data.image_files.push_back("/images/" + data.class_names[static_cast<std::size_t>(data.labels[i])] + "/" +
                               std::to_string(i) + ".jpg");
  return data;
}

/// att_splits.mat and res.mat of the data set, and rev_splits.mat with its classes the other way round.
void save_two_orders(const fs::path& folder, const Dataset& data) {
  Dataset other;
  other.class_names = data.class_names;
  std::ranges::reverse(other.class_names);
  other.semantics.values = Matrix<float>::copy_of(data.semantics.values.view());
  other.split = data.split;
  test::save_xlsa17(other, folder);
  fs::rename(folder / "att_splits.mat", folder / "rev_splits.mat");
  test::save_xlsa17(data, folder);
}

}  // namespace

TEST(ClassLists, AllSamplesOfAClassTrainOrTest) {
  const Dataset data = test::tiny_dataset();
  for (const std::string format : {"npy", "mat5"}) {
    SCOPED_TRACE(format);
    test::TempDir dir;
    test::save_as(data, dir / "data", format);
    write_lists(dir / "lists", data);
    const Dataset loaded = load_dataset(dir / "data", {.split = dir / "lists"});
    EXPECT_EQ(classes_of(loaded, loaded.split.trainval), (Classes{0, 1, 2, 3, 4}));
    EXPECT_EQ(classes_of(loaded, loaded.split.test_unseen), (Classes{5, 6}));
    EXPECT_TRUE(loaded.split.test_seen.empty());
    const auto of_unused = std::ranges::count(loaded.labels, 7);
    EXPECT_EQ(loaded.split.trainval.size() + loaded.split.test_unseen.size() + static_cast<std::size_t>(of_unused),
              80u);
    EXPECT_EQ(loaded.split.version, "Standard Split (class lists)");
    EXPECT_EQ(loaded.split.file, "lists");
    EXPECT_TRUE(loaded.split.validation_drawn);
    EXPECT_EQ(loaded.chosen.split, (dir / "lists").string());

    write_list(dir / "lists/valclasses1.txt", data, 2, 3);
    const Dataset named = load_dataset(dir / "data", {.split = dir / "lists"});
    EXPECT_FALSE(named.split.validation_drawn);
    EXPECT_EQ(classes_of(named, named.split.val), (Classes{2, 3}));
  }
}

TEST(ClassLists, StandardLooksAtTheUsualPlaces) {
  const Dataset data = test::tiny_dataset();
  for (const char* place : {"data/standard_split", "standard_split/data", "data"}) {
    SCOPED_TRACE(place);
    test::TempDir dir;
    test::save_xlsa17(data, dir / "data");
    const std::string none = test::refusal(dir / "data", {.split = "standard"});
    for (const char* searched : {"data/standard_split", "/standard_split/data", "trainvalclasses.txt"})
      EXPECT_TRUE(test::contains(none, searched));
    write_lists(dir / place, data);
    for (const char* folder : {"data", "data/"}) {
      const Dataset loaded = load_dataset(dir / folder, {.split = "standard"});
      EXPECT_EQ(classes_of(loaded, loaded.split.test_unseen), (Classes{5, 6}));
      EXPECT_EQ(loaded.split.file, "standard");
      EXPECT_EQ(loaded.chosen.split, "standard");
    }
  }
}

TEST(ClassLists, ListsAreChecked) {
  const Dataset data = test::tiny_dataset();
  test::TempDir dir;
  save_dataset(data, dir / "data", DataFormat::npy);
  const auto expect_refusal = [&](const std::string& part) {
    EXPECT_TRUE(test::contains(test::refusal(dir / "data", {.split = dir / "lists"}), part));
  };
  fs::create_directories(dir / "lists");
  expect_refusal("testclasses.txt");
  write_lists(dir / "lists", data);
  write_text_file(dir / "lists/testclasses.txt", "unicorn\n");
  expect_refusal("unicorn");
  write_list(dir / "lists/testclasses.txt", data, 4, 6);
  expect_refusal(data.class_names[4]);
  write_text_file(dir / "lists/testclasses.txt", data.class_names[5] + "\n" + data.class_names[5] + "\n");
  expect_refusal("twice");
  write_lists(dir / "lists", data);
  write_list(dir / "lists/valclasses1.txt", data, 4, 5);
  expect_refusal("valclasses1.txt");
}

TEST(ClassOrder, ImagesTellWhichOrderLabelsHave) {
  test::TempDir dir;
  const Dataset data = small(true);
  save_two_orders(dir.path(), data);
  EXPECT_TRUE(load_dataset(dir.path(), {.semantics = "att"}).notes.empty());
  EXPECT_EQ(load_dataset(dir.path(), {.semantics = "att,rev"}).labels, data.labels);
  const std::string message = test::refusal(dir.path(), {.semantics = "rev"});
  EXPECT_TRUE(test::contains(message, "the labels are in the order of att_splits.mat"));
  EXPECT_TRUE(test::contains(message, "80 of 80 samples"));
}

TEST(ClassOrder, WithoutImagesADifferentOrderIsNoted) {
  test::TempDir dir;
  save_two_orders(dir.path(), small(false));
  for (const std::string name : {"att", "rev"}) {
    const Dataset loaded = load_dataset(dir.path(), {.semantics = name});
    ASSERT_EQ(loaded.notes.size(), 1u);
    EXPECT_TRUE(test::contains(loaded.notes[0], "in the order of " + name + "_splits.mat"));
  }
}

TEST(ClassOrder, AFewLabelsThatContradictTheirImagesAreNoted) {
  test::TempDir dir;
  Dataset data = small(true);
  data.image_files[3] = "/images/" + data.class_names[data.labels[3] == 0 ? 1 : 0] + "/3.jpg";
  test::save_xlsa17(data, dir.path());
  const Dataset loaded = load_dataset(dir.path());
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_TRUE(test::contains(loaded.notes[0], "1 of 80 samples"));
}

TEST(ClassOrder, ASplitOfOtherClassesIsRefused) {
  test::TempDir dir, other, same;
  Dataset data = small(false);
  test::save_xlsa17(data, dir.path());
  save_two_orders(same.path(), data);
  EXPECT_EQ(load_dataset(dir.path(), {.split = same / "rev_splits.mat"}).split.trainval, data.split.trainval);
  data.class_names[2] = "unicorn";
  test::save_xlsa17(data, other.path());
  EXPECT_TRUE(test::contains(test::refusal(dir.path(), {.split = other / "att_splits.mat"}),
                             "'unicorn', which the data set lacks"));
}

TEST(ClassOrder, LabelsOfCubAreThoseOfItsImages) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  Dataset cub = load_dataset(*folder, {.read_features = false});
  EXPECT_TRUE(cub.notes.empty());
  ASSERT_EQ(cub.image_files.size(), cub.samples());
  std::swap(cub.class_names[0], cub.class_names[1]);  // the check sees real image names
  check_class_order(*folder, "att", cub);
  ASSERT_EQ(cub.notes.size(), 1u);
  EXPECT_TRUE(test::contains(cub.notes[0], "of 11788 samples"));
}

}  // namespace parsnets
