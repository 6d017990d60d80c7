#include "data/class_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "data/tiny_dataset.hpp"
#include "parsnets/error.hpp"
#include "shared_data.hpp"
#include "temp_dir.hpp"

namespace parsnets {

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
  save_dataset(other, folder, DataFormat::mat5);
  fs::rename(folder / "att_splits.mat", folder / "rev_splits.mat");
  save_dataset(data, folder, DataFormat::mat5);
}

Dataset load(const fs::path& folder, const std::string& semantics, const fs::path& split = {}) {
  LoadOptions options;
  options.semantics = semantics;
  options.split = split;
  return load_dataset(folder, options);
}

std::string refusal(const fs::path& folder, const std::string& semantics, const fs::path& split = {}) {
  try {
    load(folder, semantics, split);
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
  EXPECT_TRUE(load(dir.path(), "att").notes.empty());
  EXPECT_EQ(load(dir.path(), "att,rev").labels, data.labels);
  const std::string message = refusal(dir.path(), "rev");
  EXPECT_NE(message.find("the labels are in the order of att_splits.mat"), std::string::npos) << message;
  EXPECT_NE(message.find("80 of 80 samples"), std::string::npos) << message;
}

TEST(ClassOrder, WithoutImagesADifferentOrderIsNoted) {
  test::TempDir dir;
  save_two_orders(dir.path(), small(false));
  for (const char* name : {"att", "rev"}) {
    const Dataset loaded = load(dir.path(), name);
    ASSERT_EQ(loaded.notes.size(), 1u);
    EXPECT_NE(loaded.notes[0].find(std::string("in the order of ") + name + "_splits.mat"), std::string::npos)
        << loaded.notes[0];
  }
}

TEST(ClassOrder, AFewLabelsThatContradictTheirImagesAreNoted) {
  test::TempDir dir;
  Dataset data = small(true);
  data.image_files[3] = "/images/" + data.class_names[data.labels[3] == 0 ? 1 : 0] + "/3.jpg";
  save_dataset(data, dir.path(), DataFormat::mat5);
  const Dataset loaded = load(dir.path(), "att");
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_NE(loaded.notes[0].find("1 of 80 samples"), std::string::npos);
}

TEST(ClassOrder, ASplitOfOtherClassesIsRefused) {
  test::TempDir dir, other, same;
  Dataset data = small(false);
  save_dataset(data, dir.path(), DataFormat::mat5);
  save_two_orders(same.path(), data);
  EXPECT_EQ(load(dir.path(), "att", same / "rev_splits.mat").split.trainval, data.split.trainval);
  data.class_names[2] = "unicorn";
  save_dataset(data, other.path(), DataFormat::mat5);
  const std::string message = refusal(dir.path(), "att", other / "att_splits.mat");
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
