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

TEST(Samples, FeaturesOfAnotherSizeAreRefused) {
  TrainedModel trained("ridge");
  trained.data.features = Matrix<float>(trained.data.samples(), 7, 0.0f);
  EXPECT_THROW(choose_samples(trained.data, trained.model, ".", ".", 5), Error);
}
