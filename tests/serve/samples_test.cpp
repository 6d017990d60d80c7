#include "serve/samples.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "parsnets/error.hpp"
#include "serve/edited_bank.hpp"
#include "serve/served_model.hpp"
#include "temp_dir.hpp"

namespace {

using namespace parsnets::test;
using namespace parsnets;

}  // namespace

TEST(Samples, AreSpreadEvenlyOverTheTestClasses) {
  const TrainedModel trained("ridge");
  const TempDir folder;
  const auto samples = choose_samples(trained.data, trained.model, folder.path(), folder.path(), 40);
  ASSERT_EQ(samples.samples.size(), 40u);
  std::map<std::string, int> counts;
  for (const auto& sample : samples.samples) ++counts[sample.label];
  EXPECT_EQ(counts.size(), 16u);
  for (const auto& [label, count] : counts) EXPECT_TRUE(count == 2 || count == 3) << label;
  const std::vector<std::int32_t>& unseen = trained.data.split.test_unseen;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t row = std::stoul(samples.samples[i].name.substr(7));
    EXPECT_TRUE(std::ranges::equal(samples.features.row(i), trained.data.features.row(row)));
    const bool is_unseen = std::ranges::find(unseen, static_cast<std::int32_t>(row)) != unseen.end();
    EXPECT_EQ(samples.samples[i].seen, !is_unseen);
    EXPECT_EQ(std::ranges::count(trained.data.split.trainval, static_cast<std::int32_t>(row)), 0)
        << "a training sample";
  }
}

TEST(Samples, HaveThePicturesOfTheirFiles) {
  TrainedModel trained("ridge");
  const TempDir folder;
  trained.data.image_files.assign(trained.data.samples(), "a.bmp");
  std::ofstream(folder / "a.bmp", std::ios::binary) << bmp_file(4, 4);
  const auto samples = choose_samples(trained.data, trained.model, folder.path(), folder.path(), 5);
  ASSERT_EQ(samples.pictures.size(), 5u);
  EXPECT_EQ(samples.pictures[4].type, "image/bmp");
  trained.data.image_files.assign(trained.data.samples(), "missing.bmp");
  EXPECT_TRUE(choose_samples(trained.data, trained.model, folder.path(), folder.path(), 5).pictures.empty());
}

// The names are those of image_files.csv, which comes from somebody else.
TEST(Samples, PicturesOutsideTheFolderAreNotShown) {
  TrainedModel trained("ridge");
  const TempDir folder;
  const auto images = folder / "images";
  std::filesystem::create_directories(images / "sub");
  std::ofstream(folder / "secret.bmp", std::ios::binary) << bmp_file(4, 4);
  std::ofstream(images / "own.bmp", std::ios::binary) << bmp_file(4, 4);
  std::filesystem::create_symlink(folder / "secret.bmp", images / "link.bmp");
  std::filesystem::create_symlink(folder.path(), images / "up");
  std::filesystem::create_symlink("../own.bmp", images / "sub" / "inside.bmp");
  const auto shown = [&](const std::string& name) {
    trained.data.image_files.assign(trained.data.samples(), name);
    return choose_samples(trained.data, trained.model, folder.path(), images, 5).pictures.size();
  };
  EXPECT_EQ(shown("own.bmp"), 5u);
  EXPECT_EQ(shown("sub/../own.bmp"), 5u);
  EXPECT_EQ(shown("sub/inside.bmp"), 5u);
  EXPECT_EQ(shown((images / "own.bmp").string()), 5u);
  for (const std::string& name : {std::string("../secret.bmp"), folder.file("secret.bmp"), std::string("link.bmp"),
                                  std::string("up/secret.bmp"), std::string("sub/../../secret.bmp")})
    EXPECT_EQ(shown(name), 0u) << name;
}

TEST(Samples, FeaturesOfAnotherSizeAreRefused) {
  TrainedModel trained("ridge");
  trained.data.features = Matrix<float>(trained.data.samples(), 7, 0.0f);
  EXPECT_THROW(choose_samples(trained.data, trained.model, ".", ".", 5), Error);
}
