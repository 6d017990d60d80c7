#include "data/feature_source.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "data/synth.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/error.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

FeatureSource source() {
  return {"net.onnx", std::string(64, 'a'), "features", {PixelPreset::caffe, ImageFit::whole, 96, 64}, 8};
}

std::string message_of(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "no error";
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
    EXPECT_NE(message_of([&] { feature_source_from_json(damaged, "x.json"); }).find(key), std::string::npos) << key;
    damaged[key] = nlohmann::json::array();
    EXPECT_NE(message_of([&] { feature_source_from_json(damaged, "x.json"); }).find(key), std::string::npos) << key;
  }
  nlohmann::json damaged = good;
  damaged["preset"] = "vgg";
  EXPECT_NE(message_of([&] { feature_source_from_json(damaged, "x.json"); }).find("torchvision or caffe or tf"),
            std::string::npos);
  damaged = good;
  damaged["width"] = 0;
  EXPECT_NE(message_of([&] { feature_source_from_json(damaged, "x.json"); }).find("from 1 to"), std::string::npos);
  EXPECT_NE(message_of([&] { feature_source_from_json(nlohmann::json::array(), "x.json"); }).find("an object"),
            std::string::npos);
}

TEST(FeatureSource, OnlyTheNameOfTheFileMayDiffer) {
  FeatureSource other = source();
  other.backbone = "renamed.onnx";
  EXPECT_NO_THROW(require_same_source(source(), other, "x"));
  EXPECT_NO_THROW(require_same_source(std::nullopt, other, "x"));
  EXPECT_NO_THROW(require_same_source(source(), std::nullopt, "x"));
  other.sha256 = std::string(64, 'b');
  EXPECT_NE(message_of([&] { require_same_source(source(), other, "x"); }).find("bbbbbbbbbbbb"), std::string::npos);
  other = source();
  other.input.preset = PixelPreset::tf;
  EXPECT_NE(message_of([&] { require_same_source(source(), other, "x"); }).find("96 x 64 tf whole"), std::string::npos);
  other = source();
  other.layer = "logits";
  EXPECT_NE(message_of([&] { require_same_source(source(), other, "x"); }).find("layer logits"), std::string::npos);
}

TEST(FeatureSource, ADataSetKeepsIt) {
  test::TempDir temp;
  Dataset data = synthesize({});
  data.source = source();
  save_dataset(data, temp / "a", DataFormat::npy);
  EXPECT_EQ(load_dataset(temp / "a").source, source());
  data.source.reset();
  save_dataset(data, temp / "a", DataFormat::npy);
  EXPECT_FALSE(load_dataset(temp / "a").source);
}

TEST(FeatureSource, IsWrittenBeforeTheFeatures) {
  test::TempDir temp;
  Dataset data = synthesize({});
  data.source = source();
  std::filesystem::create_directories(temp / "a/features.npy/in-the-way");  // saving ends here
  EXPECT_THROW(save_dataset(data, temp / "a", DataFormat::npy), Error);
  EXPECT_EQ(read_feature_source(temp / "a/features.npy"), source());
}

}  // namespace
}  // namespace parsnets
