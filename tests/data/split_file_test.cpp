#include "data/split_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "data/tiny_dataset.hpp"
#include "formats/array_files.hpp"
#include "parsnets/error.hpp"
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

Dataset load_with_split(const fs::path& folder, const fs::path& split) {
  LoadOptions options;
  options.split = split;
  return load_dataset(folder, options);
}

std::string split_refusal(const fs::path& folder, const fs::path& split) {
  try {
    load_with_split(folder, split);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "";
}

std::set<std::int32_t> classes_of(const Dataset& data, const std::vector<std::int32_t>& samples) {
  std::set<std::int32_t> classes;
  for (const auto s : samples) classes.insert(data.labels[static_cast<std::size_t>(s)]);
  return classes;
}

}  // namespace

TEST(ClassLists, AllSamplesOfAClassTrainOrTest) {
  const Dataset data = test::tiny_dataset();
  for (const std::string format : {"npy", "mat5"}) {
    SCOPED_TRACE(format);
    test::TempDir dir;
    test::save_as(data, dir / "data", format);
    write_lists(dir / "lists", data);
    const Dataset loaded = load_with_split(dir / "data", dir / "lists");
    EXPECT_EQ(classes_of(loaded, loaded.split.trainval), (std::set<std::int32_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(classes_of(loaded, loaded.split.test_unseen), (std::set<std::int32_t>{5, 6}));
    EXPECT_TRUE(loaded.split.test_seen.empty());
    const auto of_unused = std::ranges::count(loaded.labels, 7);
    EXPECT_EQ(loaded.split.trainval.size() + loaded.split.test_unseen.size() + static_cast<std::size_t>(of_unused),
              80u);
    EXPECT_EQ(loaded.split.version, "Standard Split (class lists)");
    EXPECT_EQ(loaded.split.file, "lists");
    EXPECT_TRUE(loaded.split.validation_drawn);
    EXPECT_EQ(loaded.chosen.split, (dir / "lists").string());

    write_list(dir / "lists/valclasses1.txt", data, 2, 3);
    const Dataset named = load_with_split(dir / "data", dir / "lists");
    EXPECT_FALSE(named.split.validation_drawn);
    EXPECT_EQ(classes_of(named, named.split.val), (std::set<std::int32_t>{2, 3}));
  }
}

TEST(ClassLists, StandardLooksAtTheUsualPlaces) {
  const Dataset data = test::tiny_dataset();
  for (const char* place : {"data/standard_split", "standard_split/data", "data"}) {
    SCOPED_TRACE(place);
    test::TempDir dir;
    test::save_xlsa17(data, dir / "data");
    const std::string none = split_refusal(dir / "data", "standard");
    for (const char* searched : {"data/standard_split", "/standard_split/data", "trainvalclasses.txt"})
      EXPECT_NE(none.find(searched), std::string::npos) << none;
    write_lists(dir / place, data);
    for (const char* folder : {"data", "data/"}) {
      const Dataset loaded = load_with_split(dir / folder, "standard");
      EXPECT_EQ(classes_of(loaded, loaded.split.test_unseen), (std::set<std::int32_t>{5, 6}));
      EXPECT_EQ(loaded.split.file, "standard");
      EXPECT_EQ(loaded.chosen.split, "standard");
    }
  }
}

TEST(ClassLists, ListsAreChecked) {
  const Dataset data = test::tiny_dataset();
  test::TempDir dir;
  save_dataset(data, dir / "data", DataFormat::npy);
  fs::create_directories(dir / "lists");
  EXPECT_NE(split_refusal(dir / "data", dir / "lists").find("testclasses.txt"), std::string::npos);
  write_lists(dir / "lists", data);
  write_text_file(dir / "lists/testclasses.txt", "unicorn\n");
  EXPECT_NE(split_refusal(dir / "data", dir / "lists").find("unicorn"), std::string::npos);
  write_list(dir / "lists/testclasses.txt", data, 4, 6);
  EXPECT_NE(split_refusal(dir / "data", dir / "lists").find(data.class_names[4]), std::string::npos);
  write_text_file(dir / "lists/testclasses.txt", data.class_names[5] + "\n" + data.class_names[5] + "\n");
  EXPECT_NE(split_refusal(dir / "data", dir / "lists").find("twice"), std::string::npos);
  write_lists(dir / "lists", data);
  write_list(dir / "lists/valclasses1.txt", data, 4, 5);
  EXPECT_NE(split_refusal(dir / "data", dir / "lists").find("valclasses1.txt"), std::string::npos);
}

namespace {

namespace fs = std::filesystem;

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

Dataset load_ordered(const fs::path& folder, const std::string& semantics, const fs::path& split = {}) {
  LoadOptions options;
  options.semantics = semantics;
  options.split = split;
  return load_dataset(folder, options);
}

std::string order_refusal(const fs::path& folder, const std::string& semantics, const fs::path& split = {}) {
  try {
    load_ordered(folder, semantics, split);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "";
}

}  // namespace

TEST(ClassOrder, ImagesTellWhichOrderLabelsHave) {
  test::TempDir dir;
  const Dataset data = small(true);
  save_two_orders(dir.path(), data);
  EXPECT_TRUE(load_ordered(dir.path(), "att").notes.empty());
  EXPECT_EQ(load_ordered(dir.path(), "att,rev").labels, data.labels);
  const std::string message = order_refusal(dir.path(), "rev");
  EXPECT_NE(message.find("the labels are in the order of att_splits.mat"), std::string::npos) << message;
  EXPECT_NE(message.find("80 of 80 samples"), std::string::npos) << message;
}

TEST(ClassOrder, WithoutImagesADifferentOrderIsNoted) {
  test::TempDir dir;
  save_two_orders(dir.path(), small(false));
  for (const char* name : {"att", "rev"}) {
    const Dataset loaded = load_ordered(dir.path(), name);
    ASSERT_EQ(loaded.notes.size(), 1u);
    EXPECT_NE(loaded.notes[0].find(std::string("in the order of ") + name + "_splits.mat"), std::string::npos)
        << loaded.notes[0];
  }
}

TEST(ClassOrder, AFewLabelsThatContradictTheirImagesAreNoted) {
  test::TempDir dir;
  Dataset data = small(true);
  data.image_files[3] = "/images/" + data.class_names[data.labels[3] == 0 ? 1 : 0] + "/3.jpg";
  test::save_xlsa17(data, dir.path());
  const Dataset loaded = load_ordered(dir.path(), "att");
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_NE(loaded.notes[0].find("1 of 80 samples"), std::string::npos);
}

TEST(ClassOrder, ASplitOfOtherClassesIsRefused) {
  test::TempDir dir, other, same;
  Dataset data = small(false);
  test::save_xlsa17(data, dir.path());
  save_two_orders(same.path(), data);
  EXPECT_EQ(load_ordered(dir.path(), "att", same / "rev_splits.mat").split.trainval, data.split.trainval);
  data.class_names[2] = "unicorn";
  test::save_xlsa17(data, other.path());
  const std::string message = order_refusal(dir.path(), "att", other / "att_splits.mat");
  EXPECT_NE(message.find("'unicorn', which the data set lacks"), std::string::npos) << message;
}

TEST(ClassOrder, LabelsOfCubAreThoseOfItsImages) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  LoadOptions options;
  options.read_features = false;
  Dataset cub = load_dataset(*folder, options);
  EXPECT_TRUE(cub.notes.empty());
  ASSERT_EQ(cub.image_files.size(), cub.samples());
  std::swap(cub.class_names[0], cub.class_names[1]);  // the check sees real image names
  check_class_order(*folder, "att", cub);
  ASSERT_EQ(cub.notes.size(), 1u);
  EXPECT_NE(cub.notes[0].find("of 11788 samples"), std::string::npos) << cub.notes[0];
}

}  // namespace parsnets
