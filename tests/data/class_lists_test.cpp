#include "data/class_lists.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "data/tiny_dataset.hpp"
#include "parsnets/error.hpp"
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

Dataset load(const fs::path& folder, const fs::path& split) {
  LoadOptions options;
  options.split = split;
  return load_dataset(folder, options);
}

std::string refusal(const fs::path& folder, const fs::path& split) {
  try {
    load(folder, split);
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
  for (const auto format : {DataFormat::npy, DataFormat::mat5}) {
    SCOPED_TRACE(static_cast<int>(format));
    test::TempDir dir;
    save_dataset(data, dir / "data", format);
    write_lists(dir / "lists", data);
    const Dataset loaded = load(dir / "data", dir / "lists");
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
    const Dataset named = load(dir / "data", dir / "lists");
    EXPECT_FALSE(named.split.validation_drawn);
    EXPECT_EQ(classes_of(named, named.split.val), (std::set<std::int32_t>{2, 3}));
  }
}

TEST(ClassLists, StandardLooksAtTheUsualPlaces) {
  const Dataset data = test::tiny_dataset();
  for (const char* place : {"data/standard_split", "standard_split/data", "data"}) {
    SCOPED_TRACE(place);
    test::TempDir dir;
    save_dataset(data, dir / "data", DataFormat::mat5);
    const std::string none = refusal(dir / "data", "standard");
    for (const char* searched : {"data/standard_split", "/standard_split/data", "trainvalclasses.txt"})
      EXPECT_NE(none.find(searched), std::string::npos) << none;
    write_lists(dir / place, data);
    for (const char* folder : {"data", "data/"}) {
      const Dataset loaded = load(dir / folder, "standard");
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
  EXPECT_NE(refusal(dir / "data", dir / "lists").find("testclasses.txt"), std::string::npos);
  write_lists(dir / "lists", data);
  write_text_file(dir / "lists/testclasses.txt", "unicorn\n");
  EXPECT_NE(refusal(dir / "data", dir / "lists").find("unicorn"), std::string::npos);
  write_list(dir / "lists/testclasses.txt", data, 4, 6);
  EXPECT_NE(refusal(dir / "data", dir / "lists").find(data.class_names[4]), std::string::npos);
  write_text_file(dir / "lists/testclasses.txt", data.class_names[5] + "\n" + data.class_names[5] + "\n");
  EXPECT_NE(refusal(dir / "data", dir / "lists").find("twice"), std::string::npos);
  write_lists(dir / "lists", data);
  write_list(dir / "lists/valclasses1.txt", data, 4, 5);
  EXPECT_NE(refusal(dir / "data", dir / "lists").find("valclasses1.txt"), std::string::npos);
}

}  // namespace parsnets
