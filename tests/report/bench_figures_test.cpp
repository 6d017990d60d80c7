#include "report/bench_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "parsnets/error.hpp"
#include "small_training.hpp"

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
  void add(const Json& file) { add_file_figures({"file.json", file.dump()}, data, test, json); }
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

namespace {

JudgedSample sample(OpenSetKind kind, float above) {
  return {.kind = kind, .known_score = above, .above_threshold = above};
}

double sum(const Json& values) {
  const auto numbers = values.get<std::vector<double>>();
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

struct Rejecting : test::TrainedModel {
  Rejecting() : TrainedModel("parsnets") {
    for (auto& weights : model.rejection.weights) weights[0] = 1;
    model.rejection.range[0].fill(-1e6f);
    model.rejection.range[1].fill(1e6f);
    model.rejection.thresholds = {0.4f, 0.4f};
    model.rejection.false_accept = 0.05;
  }
  Json figures() { return open_set_figures(model, data, 1, pool, nullptr); }
};

}  // namespace

TEST(OpenSetFigures, BinsHaveAnEdgeAtTheThresholdAndTakeEverySampleInRange) {
  std::vector<JudgedSample> samples;
  for (int i = 0; i < 400; ++i) {
    samples.push_back(sample(OpenSetKind::known_seen, static_cast<float>(i) / 100 - 1));
    samples.push_back(sample(OpenSetKind::unknown, static_cast<float>(i) / 200 - 3));
  }
  samples.push_back(sample(OpenSetKind::unknown, 1000));  // beyond the last bin
  for (int i = 0; i < 100; ++i) samples.push_back(sample(OpenSetKind::unknown, std::numeric_limits<float>::lowest()));
  const Json json = open_set_histogram(samples);
  const auto edges = json["edges"].get<std::vector<double>>();
  EXPECT_EQ(std::ranges::count(edges, 0.0), 1);
  EXPECT_LE(edges.size(), 43u);
  EXPECT_LT(edges.back(), 4);
  EXPECT_NEAR(sum(json["known_seen"]), 100, 1e-9);
  EXPECT_NEAR(sum(json["unknown"]), 100 * 401.0 / 501, 1e-9);
  EXPECT_NEAR(json["out_of_range"]["unknown"], 100 * 100.0 / 501, 1e-9);
  EXPECT_EQ(json["out_of_range"]["known_seen"], 0);
  EXPECT_TRUE(json["known_unseen"].is_null());
  EXPECT_TRUE(json["out_of_range"]["known_unseen"].is_null());
  double accepted = 0;  // of known_seen: 300 of 400
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    accepted += edges[i] >= 0 ? json["known_seen"][i].get<double>() : 0;
  EXPECT_NEAR(accepted, 75, 1e-9);
}

TEST(OpenSetFigures, EqualOrRejectedScoresHaveBinsToo) {
  for (const float above : {0.0f, 2.0f, -2.0f, std::numeric_limits<float>::lowest()}) {
    const std::vector<JudgedSample> samples(5, sample(OpenSetKind::unknown, above));
    const Json json = open_set_histogram(samples);
    EXPECT_NEAR(sum(json["unknown"]) + json["out_of_range"]["unknown"].get<double>(), 100, 1e-9) << above;
    EXPECT_GE(json["edges"].size(), 2u);
  }
}

TEST(OpenSetFigures, AreThoseOfTheEvaluation) {
  Rejecting t;
  const Json json = t.figures();
  const auto result = evaluate_open_set(t.model, t.data, {}, t.pool);
  EXPECT_EQ(json["known_score"]["auroc"], result.by_known_score.auroc);
  EXPECT_EQ(json["at_thresholds"]["unknown"], result.unknown.accepted);
  double known = 0, right = 0, all = 0;
  for (const auto& one : result.samples) {
    if (one.kind == OpenSetKind::unknown) continue;
    ++all;
    known += one.above_threshold >= 0;
    right += one.above_threshold >= 0 && one.right;
  }
  EXPECT_DOUBLE_EQ(json["at_thresholds"]["known"], 100 * known / all);
  EXPECT_DOUBLE_EQ(json["at_thresholds"]["known_right"], 100 * right / all);
  for (const char* score : {"known_score", "confidence"})
    for (const char* curve : {"roc", "oscr_curve"}) {
      EXPECT_LE(json[score][curve].size(), 200u);
      EXPECT_EQ(json[score][curve].front(), Json({0.0, 0.0}));
      EXPECT_EQ(json[score][curve].back()[0], 100);
    }
  EXPECT_NEAR(json["confidence"]["oscr_curve"].back()[1], result.known_right, 1e-3);
  EXPECT_EQ(json["no_class"].size(), result.no_class.size());
}

TEST(OpenSetFigures, AreLeftOutWhereThereIsNothingToShow) {
  Rejecting t;
  EXPECT_TRUE(t.figures().is_object());
  const auto unseen = t.data.unseen_classes();
  t.data.split.test_seen.clear();
  EXPECT_TRUE(t.figures().is_object()) << "one half of the unseen classes is known";
  std::erase_if(t.data.split.test_unseen,
                [&](std::int32_t row) { return t.data.labels[static_cast<std::size_t>(row)] != unseen[0]; });
  EXPECT_TRUE(t.figures().is_null());
  Rejecting other;
  other.model.rejection = {};
  EXPECT_TRUE(other.figures().is_null());
}

}  // namespace parsnets
