#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "parsnets/model.hpp"

namespace parsnets::test {

namespace {

/// Two models of the demo set, one of which rejects samples by their score.
struct Models {
  Models() {
    EXPECT_EQ(run_cli({"train", "--data", kDemo, "--out", plain, "--quiet"}).exit_code, 0);
    Model model = load_model(plain);
    for (auto& weights : model.rejection.weights) weights[0] = 1;
    model.rejection.range[0].fill(-1e6f);
    model.rejection.range[1].fill(1e6f);
    model.rejection.thresholds = {0.2f, 0.4f};
    model.rejection.false_accept = 0.1;
    save_model(model, rejecting);
  }
  CliResult run(std::vector<std::string> more, bool can_reject = true, const std::string& unknown = "halves") const {
    std::vector<std::string> command{
        "eval", "--model", can_reject ? rejecting : plain, "--data", kDemo, "--unknown-classes", unknown};
    command.insert(command.end(), more.begin(), more.end());
    return run_cli(command);
  }

  TempDir dir;
  const std::string plain = (dir / "plain.safetensors").string(), rejecting = (dir / "rejecting.safetensors").string();
};

const Models& models() {
  static const Models both;
  return both;
}

}  // namespace

TEST(CliEvalOpenSet, FiguresStandApart) {
  const auto text = models().run({});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"AUROC", "known score", "largest softmax", "known, seen classes", "known, unseen classes",
                           "\nunknown ", "gaussian", "in two turns, 1 and 1", "10 % of unknown"})
    EXPECT_TRUE(has(text.out, part)) << part << '\n' << text.out;
  EXPECT_FALSE(has(text.out, "ZSL")) << text.out;
  const std::string out = (models().dir / "open.json").string();
  const auto json = models().run({"--json", "--out", out}).json();
  EXPECT_EQ(json, nlohmann::json::parse(read_text_file(out)));
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
  EXPECT_TRUE(has(text.out, "2 unseen classes left out")) << text.out;
  EXPECT_FALSE(has(text.out, "known, unseen classes")) << text.out;
  const auto misspelt = models().run({}, true, "trck");
  EXPECT_EQ(misspelt.exit_code, 3);
  EXPECT_TRUE(has(misspelt.err, "did you mean 'truck'")) << misspelt.err;
}

TEST(CliEvalOpenSet, WhatDoesNotGoTogetherIsRefused) {
  const auto plain = models().run({}, false);
  EXPECT_EQ(plain.exit_code, 2);
  EXPECT_TRUE(has(plain.err, "--false-accept")) << plain.err;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--few-shot", "1"}, {"--transductive", "mixed"}, {"--per-class"}})
    EXPECT_EQ(models().run(more).exit_code, 2) << more[0];
  const std::string device = (models().dir / "m.pnrt").string();
  ASSERT_EQ(run_cli({"export", "--model", models().plain, "--out", device, "--quiet"}).exit_code, 0);
  const auto on_device = run_cli({"eval", "--model", device, "--data", kDemo, "--unknown-classes", "all"});
  EXPECT_EQ(on_device.exit_code, 2);
  EXPECT_TRUE(has(on_device.err, "device file")) << on_device.err;
}

}  // namespace parsnets::test
