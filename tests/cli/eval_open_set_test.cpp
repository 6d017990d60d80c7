#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "parsnets/model.hpp"

namespace parsnets::test {

namespace {

/// Two models of the demo set, one of which rejects samples by their score.
struct Models {
  Models() {
    Model model = load_model(plain);
    for (auto& weights : model.rejection.weights) weights[0] = 1;
    model.rejection.range[0].fill(-1e6f);
    model.rejection.range[1].fill(1e6f);
    model.rejection.thresholds = {0.2f, 0.4f};
    model.rejection.false_accept = 0.1;
    save_model(model, rejecting);
  }
  CliResult run(Words more, bool can_reject = true, const std::string& unknown = "halves") const {
    return run_cli(
        Words{"eval", "--model", can_reject ? rejecting : plain, "--data", kDemo, "--unknown-classes", unknown} + more);
  }

  TempDir dir;
  const std::string &plain = model_of_demo(), rejecting = dir.file("rejecting.safetensors");
};

const Models& models() {
  static const Models both;
  return both;
}

}  // namespace

TEST(CliEvalOpenSet, FiguresStandApart) {
  const auto text = expect_ok(models().run({}));
  EXPECT_TRUE(
      has_all(text.out, {"AUROC", "known score", "largest softmax", "known, seen classes", "known, unseen classes",
                         "\nunknown ", "gaussian", "in two turns, 1 and 1", "10 % of unknown"}));
  EXPECT_FALSE(has(text.out, "ZSL"));
  const std::string out = models().dir.file("open.json");
  const auto json = models().run({"--json", "--out", out}).json();
  EXPECT_EQ(json, json_in(out));
  for (const char* key : {"zsl", "gzsl", "per_class", "intervals"}) EXPECT_FALSE(json.contains(key)) << key;
  const auto& open_set = json["open_set"];
  EXPECT_EQ(open_set["turns"].size(), 2u);
  EXPECT_EQ(open_set["unknown"]["samples"], 480);
  EXPECT_EQ(open_set["no_class"].size(), 7u);
  EXPECT_GT(open_set["known_score"]["auroc"], open_set["known_score"]["oscr"]);
}

TEST(CliEvalOpenSet, UnknownClassesAreNamedOrAll) {
  const auto one = models().run({"--json"}, true, "truck").json()["open_set"];
  EXPECT_EQ(one["turns"], nlohmann::json::parse(R"([["truck"]])"));
  EXPECT_EQ(one["known_unseen"]["classes"], 1);
  const auto all = models().run({"--json"}, true, "all").json()["open_set"];
  EXPECT_EQ(all["turns"], nlohmann::json::parse(R"([["deer", "truck"]])"));
  EXPECT_TRUE(all["known_unseen"]["accepted"].is_null());
  const auto text = models().run({}, true, "all");
  EXPECT_TRUE(has(text.out, "2 unseen classes left out"));
  EXPECT_FALSE(has(text.out, "known, unseen classes"));
  expect_error(models().run({}, true, "trck"), 3, "did you mean 'truck'");
}

TEST(CliEvalOpenSet, WhatDoesNotGoTogetherIsRefused) {
  expect_error(models().run({}, false), 2, "--false-accept");
  for (const Words& more : {Words{"--few-shot", "1"}, {"--transductive", "mixed"}, {"--per-class"}})
    EXPECT_EQ(models().run(more).exit_code, 2) << more[0];
  const std::string device = models().dir.file("m.pnrt");
  run_ok({"export", "--model", models().plain, "--out", device, "--quiet"});
  run_error({"eval", "--model", device, "--data", kDemo, "--unknown-classes", "all"}, 2, "device file");
}

}  // namespace parsnets::test
