#include "store/train_record_json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>

#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "small_training.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

/// A record in which every field is set.
TrainRecord full_record() {
  TrainRecord record;
  record.data = {
      "demo",
      "res50",
      "att",
      50,
      12,
      {{30, "0a"}, {10, "0b"}, {10, "0c"}, {20, "0d"}, {10, "0e"}, "2.0", "my.json"},
      "AWA2",
      "f07",
      "12ab34cd",
      {{"a.stats", 40}},
      "/data/clip.npy",
      "att,/data/w2v.txt",
      "standard",
      FeatureSource{"net.onnx", std::string(64, '0'), "out", {PixelPreset::tf, ImageFit::whole, 32, 48}, 12}};
  record.seed = std::uint64_t{1} << 63;
  record.asked = {{{"preset", "auto"}, {"split", "my.json"}}, true, 7};
  record.validation = {"validation classes", 3, "drawn", 61.25, 1.0 / 3};
  record.chosen = "lambda=5";
  record.selection = {{"lambda=5", 60, 50.5}, {"lambda=20", 59, 50}};
  record.left_out = {"gates"};
  record.encoder = {64, 0.5};
  record.gates = {{3, 4, 5}, 0.25, 0.5, 0.75, 1};
  record.svr = {0.1, 0.2, 0.3, 1e-4, true, 10.0, 9.5, 7, {{0, 20, 0, 1}, {7, 10, 9.5, 1e-4}}};
  record.joint = {{5, {}, {}, 2, 0, {}}, {4, 3.0, {}, 1, 0.5, {}}};
  record.orthogonality = 0.125;
  record.dap = {20, 1e-5};
  record.refinement = {{2, {}, 1.5, 0.5, 0, 0.25}};
  record.warnings = {"all classes have the same attributes"};
  record.field = {60, 50, 70, 55, 0.25, 65, 75};
  record.adaptations = {{100, 80, 5, 12.5, 0.5, 0, 3, "strong", "the samples spread over all classes", {}}};
  return record;
}

std::string refusal(const nlohmann::ordered_json& json) {
  return test::error_message([&] { train_record_from_json(json.dump(), "m.safetensors, record"); });
}

/// Calls `check` with the path of every value in `json`, objects and lists among them.
void each_path(const nlohmann::ordered_json& json, const nlohmann::ordered_json::json_pointer& at,
               const std::function<void(const nlohmann::ordered_json::json_pointer&)>& check) {
  for (const auto& [key, value] : json.items()) {
    const auto here = json.is_array() ? at / std::stoul(key) : at / key;
    check(here);
    if (value.is_structured()) each_path(value, here, check);
  }
}

}  // namespace

TEST(TrainRecordJson, AFullRecordComesBackEqual) {
  const TrainRecord record = full_record();
  const std::string text = to_json(record).dump();
  EXPECT_TRUE(train_record_from_json(text, "record") == record);
  EXPECT_EQ(to_json(train_record_from_json(text, "record")).dump(), text);
}

TEST(TrainRecordJson, KeysKeepTheirOrderAndNumbersTheirForm) {
  const auto json = to_json(full_record());
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  EXPECT_EQ(keys,
            "data seed asked validation chosen selection left_out encoder gates svr joint orthogonality dap refinement "
            "warnings field adaptations ");
  EXPECT_EQ(json["joint"].dump(),
            R"([{"objective":5.0,"mmg":2.0,"step":0.0},{"objective":4.0,"fit":3.0,"mmg":1.0,"step":0.5}])");
  EXPECT_EQ(json["refinement"].dump(), R"([{"objective":2.0,"loss":1.5,"mmg":0.5,"step":0.0,"slope":0.25}])");
}

TEST(TrainRecordJson, AnEmptyRecordIsAnEmptyObject) {
  EXPECT_EQ(to_json({}).dump(), "{}");
  EXPECT_TRUE(train_record_from_json("{}", "record") == TrainRecord{});
}

TEST(TrainRecordJson, PartsThatAreNotSetAreNotWritten) {
  TrainRecord record;
  record.data.name = "arrays";
  const auto json = to_json(record);
  EXPECT_EQ(json.size(), 3u) << json;
  EXPECT_EQ(json["validation"].dump(), R"({"gamma_from":"none"})");
  EXPECT_EQ(json["data"]["split"].size(), 5u);
  EXPECT_TRUE(train_record_from_json(json.dump(), "record") == record);
}

TEST(TrainRecordJson, AValueOfAnotherTypeIsAnErrorThatNamesFileAndField) {
  const auto json = to_json(full_record());
  each_path(json, nlohmann::ordered_json::json_pointer(""), [&](const auto& at) {
    auto changed = json;
    changed[at] = changed[at].is_boolean() ? nlohmann::ordered_json("no") : nlohmann::ordered_json(true);
    std::string field = at.to_string().substr(1);  // "/a/0/b" is called a[0].b
    field = std::regex_replace(field, std::regex("/([0-9]+)"), "[$1]");
    std::ranges::replace(field, '/', '.');
    EXPECT_TRUE(refusal(changed).starts_with("m.safetensors, record: " + field + ": expected")) << refusal(changed);
  });
  EXPECT_NE(refusal(nlohmann::ordered_json::array({1})).find("expected an object, found array"), std::string::npos);
}

TEST(TrainRecordJson, AMissingFieldIsAnErrorThatNamesIt) {
  for (const char* field : {"/seed", "/data/split/val/crc32", "/validation/h", "/svr/relative_gap", "/svr/trace/1/gap",
                            "/selection/0/choice", "/gates/usage_min"}) {
    const nlohmann::ordered_json::json_pointer at(field);
    auto json = to_json(full_record());
    json[at.parent_pointer()].erase(at.back());
    EXPECT_NE(refusal(json).find(at.back() + ": expected a value, found none"), std::string::npos) << refusal(json);
  }
}

TEST(TrainRecordJson, CountsAreNotNegativeAndSamplesAreHexadecimal) {
  auto json = to_json(full_record());
  json["data"]["samples"] = -3;
  EXPECT_NE(refusal(json).find("data.samples: expected a whole number, 0 or more, found -3"), std::string::npos);
  json = to_json(full_record());
  json["data"]["trained"]["samples"] = "xyz";
  EXPECT_NE(refusal(json).find("data.trained.samples: expected hexadecimal digits"), std::string::npos);
}

TEST(TrainRecordJson, KeysOfALaterVersionAreIgnored) {
  auto json = to_json(full_record());
  json["later"] = 1;
  json["svr"]["later"] = {1, 2};
  EXPECT_TRUE(train_record_from_json(json.dump(), "record") == full_record());
}

TEST(TrainRecordJson, ANumberThatIsNotFiniteIsNull) {
  TrainRecord record = full_record();
  record.validation.h = std::nan("");
  const std::string text = to_json(record).dump();
  EXPECT_TRUE(std::isnan(train_record_from_json(text, "record").validation.h));
  EXPECT_EQ(to_json(train_record_from_json(text, "record")).dump(), text);
}

TEST(TrainRecordJson, ATrainedModelTellsItsCertificateAlsoOnceStored) {
  const test::TrainedModel trained(test::small_options("scln", "tolerance=1e-3"));
  const Model& model = trained.model;
  ASSERT_TRUE(model.record.svr);
  const SvrCertificate& svr = *model.record.svr;
  EXPECT_TRUE(svr.converged);
  EXPECT_LE(svr.relative_gap, 1e-3);
  EXPECT_NEAR((*svr.primal - *svr.dual) / *svr.primal, svr.relative_gap, 1e-12);
  EXPECT_EQ(svr.trace.front().pass, 0u);
  test::TempDir dir;
  save_model(model, dir / "m.safetensors");
  EXPECT_TRUE(load_model(dir / "m.safetensors").record == model.record);
}

}  // namespace parsnets
