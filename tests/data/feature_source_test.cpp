#include "data/feature_source.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "data/synth.hpp"
#include "expect.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

FeatureSource source() {
  return {"net.onnx", std::string(64, 'a'), "features", {PixelPreset::caffe, ImageFit::whole, 96, 64}, 8};
}

std::string refusal_of(const nlohmann::json& json) {
  return test::error_of([&] { feature_source_from_json(json, "x.json"); }).message();
}

std::string refusal_of(const FeatureSource& other) {
  return test::error_of([&] { require_same_source(source(), other, "x"); }).message();
}

TEST(FeatureSource, JsonHoldsEveryField) {
  const nlohmann::json json = nlohmann::json::parse(to_json(source()).dump());
  EXPECT_EQ(feature_source_from_json(json, "x"), source());
}

TEST(FeatureSource, DamagedJsonIsRefusedByKey) {
  const nlohmann::json good = nlohmann::json::parse(to_json(source()).dump());
  for (const auto& [key, value] : good.items()) {
    nlohmann::json damaged = good;
    damaged.erase(key);
    if (key != "pool") {  // average, where nothing is said
      EXPECT_TRUE(test::contains(refusal_of(damaged), key));
    }
    damaged[key] = nlohmann::json::array();
    EXPECT_TRUE(test::contains(refusal_of(damaged), key));
  }
  nlohmann::json preset = good, width = good;
  preset["preset"] = "vgg";
  EXPECT_TRUE(test::contains(refusal_of(preset), "torchvision or caffe or tf"));
  width["width"] = 0;
  EXPECT_TRUE(test::contains(refusal_of(width), "from 1 to"));
  EXPECT_TRUE(test::contains(refusal_of(nlohmann::json::array()), "an object"));
}

TEST(FeatureSource, OnlyTheNameOfTheFileMayDiffer) {
  FeatureSource other = source();
  other.backbone = "renamed.onnx";
  EXPECT_NO_THROW(require_same_source(source(), other, "x"));
  EXPECT_NO_THROW(require_same_source(std::nullopt, other, "x"));
  EXPECT_NO_THROW(require_same_source(source(), std::nullopt, "x"));
  other.sha256 = std::string(64, 'b');
  EXPECT_TRUE(test::contains(refusal_of(other), "bbbbbbbbbbbb"));
  other = source();
  other.input.preset = PixelPreset::tf;
  EXPECT_TRUE(test::contains(refusal_of(other), "96 x 64 tf whole"));
  other = source();
  other.layer = "logits";
  EXPECT_TRUE(test::contains(refusal_of(other), "layer logits"));
}

TEST(FeatureSource, ADataSetKeepsItAndHasItBeforeTheFeatures) {
  test::TempDir temp;
  Dataset data = synthesize({});
  data.source = source();
  std::filesystem::create_directories(temp / "b/features.npy/in-the-way");  // saving ends here
  EXPECT_THROW(save_dataset(data, temp / "b", DataFormat::npy), Error);
  EXPECT_EQ(read_feature_source(temp / "b/features.npy"), source());
  save_dataset(data, temp / "a", DataFormat::npy);
  EXPECT_EQ(load_dataset(temp / "a").source, source());
  data.source.reset();
  save_dataset(data, temp / "a", DataFormat::npy);
  EXPECT_FALSE(load_dataset(temp / "a").source);
}

}  // namespace
}  // namespace parsnets
