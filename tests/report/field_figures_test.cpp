#include "report/field_figures.hpp"

#include <gtest/gtest.h>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

Json accuracy(double zsl) { return {{"zsl", {{"top1_per_class", zsl}}}, {"gzsl", {{"u", 40}, {"s", 60}, {"h", 48}}}}; }

Json file_of(const std::string& key, const Json& results) {
  return {{"data", "demo"}, {"features", "f.npy"}, {"semantics", "att"}, {key, results}};
}

Json transductive(const std::string& protocol, double before) {
  Json json{{"protocol", protocol}, {"samples", 9}};
  json.update(accuracy(55));
  json["before"] = accuracy(before);
  json["moves"] = Json::array({{{"class", "cat"}, {"support", 5.5}, {"degrees", 12.0}}});
  return file_of("transductive", json);
}

Json few_shot(double zsl) {
  const Json row{
      {"examples", 1}, {"taught", {{"mean", 60}, {"sd", 1}}}, {"examples_alone", {{"mean", 30}, {"sd", nullptr}}}};
  return file_of("few_shot", {{"draws", 1}, {"descriptions_alone", zsl}, {"rows", Json::array({row})}});
}

/// A run whose model has a ZSL accuracy of 50.
struct TestedRun {
  Dataset data;
  Evaluation test;
  Json json = Json::object();
  TestedRun() {
    data.name = "demo";
    data.features_name = "f.npy";
    test.zsl.top1_per_class = 50;
  }
  void add(const Json& file) { add_field_figures(file.dump(), "file.json", data, test, json); }
};

}  // namespace

TEST(FieldFigures, ReadsWhatEvalWroteAndLeavesOtherFilesAlone) {
  TestedRun run;
  run.add({{"sweep", "k"}});
  EXPECT_TRUE(run.json.empty());
  run.add(transductive("mixed", 50));
  run.add(transductive("unseen", 50));
  run.add(few_shot(50));
  ASSERT_EQ(run.json["transductive"].size(), 2u);
  EXPECT_EQ(run.json["transductive"][0]["before"]["zsl"], 50);
  EXPECT_EQ(run.json["transductive"][0]["after"]["zsl"], 55);
  EXPECT_EQ(run.json["transductive"][0]["after"]["h"], 48);
  EXPECT_EQ(run.json["transductive"][1]["moves"][0]["degrees"], 12);
  EXPECT_EQ(run.json["few_shot"]["rows"][0]["taught"]["mean"], 60);
  EXPECT_TRUE(run.json["few_shot"]["rows"][0]["examples_alone"]["sd"].is_null());
}

TEST(FieldFigures, RefusesOtherDataOtherModelsAndSecondFiles) {
  TestedRun run;
  run.add(transductive("mixed", 50));
  run.add(few_shot(50));
  Json other = few_shot(50);
  other["data"] = "other";
  for (const Json& bad : {transductive("mixed", 50), transductive("unseen", 51), few_shot(50), few_shot(51), other,
                          file_of("transductive", Json::object()), Json::array({1})})
    EXPECT_THROW(run.add(bad), Error) << bad.dump();
}

}  // namespace parsnets
