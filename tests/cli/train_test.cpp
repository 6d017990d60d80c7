// Training to prediction, run as a user would.

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_cli.hpp"
#include "formats/csv.hpp"
#include "same_bytes.hpp"
#include "shared_data.hpp"

namespace parsnets::test {

namespace {

/// A model trained on the demo set, made once.
const std::string& demo_model() {
  static TempDir dir;
  static const std::string file = (dir / "demo.safetensors").string();
  if (!std::filesystem::exists(file)) {
    const auto result =
        run_cli({"train", "--data", kDemo, "--out", file, "--method", "ridge", "--search", "grid", "--quiet"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  return file;
}

}  // namespace

TEST(CliTrain, AFolderWithoutASplitIsToldHowToDrawOne) {
  TempDir dir;
  const std::string folder = (dir / "d").string();
  std::filesystem::copy(std::string(PARSNETS_SOURCE_DIR) + "/data/demo", folder,
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder + "/split.json");
  const auto result = run_cli({"train", "--data", folder, "--out", (dir / "m.safetensors").string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("draw one with 'parsnets data split " + folder + "'"), std::string::npos) << result.err;
}

TEST(CliTrain, OptionsThatTheMethodDoesNotHaveAreRefused) {
  TempDir dir;
  const std::string out = (dir / "m.safetensors").string(), config = (dir / "config").string();
  write_text_file(config, "method = ridge\nrefine-steps = 3\nfit = svr\n");
  for (const auto& [words, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"train", "--data", kDemo, "--out", out, "--c", "0.5"}, "--method parsnets does not have --c"},
           // Whatever its value, also the default one.
           {{"train", "--data", kDemo, "--out", out, "--fit", "svr"}, "--method parsnets does not have --fit"},
           {{"train", "--data", kDemo, "--out", out, "--config", config},
            "--method ridge does not have --refine-steps, --fit"},
           {{"train", "--fit", "svr", "--print-config"}, "--method parsnets does not have --fit"},
           {{"train", "--data", kDemo, "--out", out, "--refine-steps", "1", "--method", "paper"},
            "--method paper does not have --refine-steps"},
           {{"bench", "--data", kDemo, "--methods", "ridge:c=0.5"}, "--method ridge does not have --c"}}) {
    const auto result = run_cli(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CliTrain, HelpShowsTheOptionsOfTheMethod) {
  const auto shows = [](const std::string& text, const char* option) { return text.find(option) != std::string::npos; };
  const std::string own = run_cli({"train", "--help"}).out,
                    paper = run_cli({"train", "--method", "paper", "--help"}).out,
                    all = run_cli({"train", "--help-all"}).out;
  EXPECT_TRUE(shows(own, "--prototype-width") && !shows(own, "--max-passes") && !shows(own, "--sharpness")) << own;
  EXPECT_TRUE(shows(paper, "--max-passes") && !shows(paper, "--prototype-width")) << paper;
  for (const char* option : {"--prototype-width", "--max-passes", "--sharpness", "--semantic-lambda", "--original-att"})
    EXPECT_TRUE(shows(all, option)) << option;
}

TEST(CliTrain, TheDemoSetTrainsAndEvaluates) {
  const auto json = run_cli({"eval", "--model", demo_model(), "--data", kDemo, "--json"}).json();
  EXPECT_GT(json["zsl"]["top1_per_class"].get<double>(), 85);
  EXPECT_GT(json["gzsl"]["h"].get<double>(), 50);
  EXPECT_EQ(json["gzsl"]["gamma_from"], "validation classes");
  EXPECT_EQ(json["features"], "features.npy");
  EXPECT_EQ(json["per_class"]["zsl"].size(), 2u);
}

TEST(CliTrain, AusucIsPercentInTablesRunsAndSummaries) {
  TempDir dir;
  const auto bench = run_cli({"bench", "--data", kDemo, "--methods", "ridge", "--quiet", "--json"}).json();
  const std::string model = (dir / "m.safetensors").string();
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--out", model, "--method", "ridge", "--quiet"}).exit_code, 0);
  const auto eval = run_cli({"eval", "--model", model, "--data", kDemo, "--json"}).json();
  const auto& method = bench["methods"][0];
  const double area = eval["gzsl"]["ausuc"].get<double>();
  EXPECT_GT(area, 50);
  EXPECT_LE(area, 100);
  EXPECT_EQ(method["runs"][0]["gzsl"]["ausuc"].get<double>(), area);
  EXPECT_EQ(method["summary"]["ausuc"]["mean"].get<double>(), area);
  for (const auto* object : {&bench, &eval, &method["runs"][0]}) EXPECT_EQ(object->at("units"), "percent");
}

TEST(CliTrain, EvalRefusesASplitWhoseTestSamplesWereTrainedOnUnlessAllowed) {
  TempDir dir;
  const std::string folder = (dir / "demo").string();
  std::filesystem::copy(kDemo, folder, std::filesystem::copy_options::recursive);
  auto split = nlohmann::json::parse(read_text_file(folder + "/split.json"));
  auto& test = split["test_seen_samples"];
  test.erase(test.begin());
  write_text_file(folder + "/split.json", split.dump());
  EXPECT_EQ(run_cli({"eval", "--model", demo_model(), "--data", folder}).exit_code, 0) << "fewer, none trained on";
  test.push_back(0);
  write_text_file(folder + "/split.json", split.dump());
  const auto refused = run_cli({"eval", "--model", demo_model(), "--data", folder});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("found 1 of"), std::string::npos) << refused.err;
  const std::vector<std::string> allowed{"eval", "--model", demo_model(), "--data", folder, "--force"};
  EXPECT_NE(run_cli(allowed).out.find("trained on 1 of these samples"), std::string::npos);
  auto as_json = allowed;
  as_json.push_back("--json");
  EXPECT_EQ(run_cli(as_json).json()["trained_samples"], 1);
}

TEST(CliTrain, PredictStreamsATableOrOneJsonObject) {
  const auto table =
      run_cli({"predict", "--model", demo_model(), "--input", kDemo + "/features.npy", "--top", "2", "--batch", "100"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 2400 * 2 + 1);
  const auto json = run_cli({"predict", "--model", demo_model(), "--input", kDemo + "/features.npy", "--top", "3",
                             "--among", "unseen", "--json", "--batch", "999"})
                        .json();
  ASSERT_EQ(json["predictions"].size(), 2400u);
  double sum = 0;
  for (const auto& one : json["predictions"][7]["top"]) {
    sum += one["confidence"].get<double>();
    EXPECT_FALSE(one["seen"].get<bool>());
  }
  EXPECT_NEAR(sum, 1.0, 1e-3) << "two unseen classes share the whole confidence";
}

TEST(CliTrain, ClassesAreAddedAndRemovedWithoutTraining) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string();
  std::filesystem::copy(demo_model(), model);
  EXPECT_EQ(run_cli({"classes", "remove", "--model", model, "--classes", "truck"}).exit_code, 0);
  EXPECT_EQ(run_cli({"eval", "--model", model, "--data", kDemo}).exit_code, 3) << "truck is gone";
  const auto added =
      run_cli({"classes", "add", "--model", model, "--attributes", kDemo + "/attributes.csv", "--classes", "truck"});
  EXPECT_EQ(added.exit_code, 0) << added.err;
  EXPECT_EQ(run_cli({"classes", "list", "--model", model, "--json"}).json()["classes"].size(), 10u);
  EXPECT_EQ(run_cli({"eval", "--model", model, "--data", kDemo, "--json"}).json()["zsl"],
            run_cli({"eval", "--model", demo_model(), "--data", kDemo, "--json"}).json()["zsl"]);
  const std::string before = read_text_file(model);
  EXPECT_EQ(
      run_cli({"classes", "add", "--model", model, "--attributes", kDemo + "/attributes.csv", "--classes", "truck"})
          .exit_code,
      3)
      << "twice";
  EXPECT_TRUE(same_bytes(read_text_file(model), before));
}

TEST(CliTrain, SeveralTablesOfSemanticsAreWeighedAndNamedEverywhere) {
  TempDir dir;
  const std::string data = (dir / "data").string(), model = (dir / "m.safetensors").string(),
                    device = (dir / "m.pnrt").string();
  std::filesystem::copy(kDemo, data);
  CsvTable table = read_csv(data + "/attributes.csv", true);
  std::ranges::reverse(table.rows);
  write_csv(data + "/again.csv", table);
  const auto trained = run_cli({"train", "--data", data, "--semantics", "att,again", "--out", model, "--json"}).json();
  EXPECT_EQ(trained["record"]["data"]["semantics"], "att,again");
  EXPECT_EQ(trained["record"]["selection"].size(), 9u);
  const std::string weights = trained["options"]["semantic-weights"];
  const auto result = run_cli({"eval", "--model", model, "--data", data, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto evaluated = result.json();
  EXPECT_EQ(evaluated["semantics"], "att,again");
  EXPECT_EQ(evaluated["semantic_weights"], weights);
  // The same table twice says what it says once.
  const auto one = (dir / "one.safetensors").string();
  run_cli({"train", "--data", kDemo, "--out", one});
  EXPECT_NEAR(
      evaluated["zsl"]["top1_per_class"].get<double>(),
      run_cli({"eval", "--model", one, "--data", kDemo, "--json"}).json()["zsl"]["top1_per_class"].get<double>(), 0.5);
  const auto inspected = run_cli({"data", "inspect", data, "--semantics", "att,again", "--json"}).json();
  EXPECT_EQ(inspected["tables"].size(), 2u);
  EXPECT_EQ(run_cli({"eval", "--model", model, "--data", data, "--semantics", "att"}).exit_code, 3);
  EXPECT_EQ(run_cli({"train", "--data", data, "--semantics", "att,again", "--out", model, "--semantic-weights", "1"})
                .exit_code,
            2);
  const auto exported = run_cli({"export", "--model", model, "--out", device, "--data", data, "--max-drop", "100"});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
}

TEST(CliTrain, ExplainNamesAttributesThatAddUp) {
  const auto json =
      run_cli({"explain", "--model", demo_model(), "--input", kDemo + "/features.npy", "--row", "1100", "--json"})
          .json();
  EXPECT_EQ(json["attributes"].size(), 39u);
  EXPECT_NE(json["winner"], json["runner_up"]);
  EXPECT_EQ(
      run_cli({"explain", "--model", demo_model(), "--input", kDemo + "/features.npy", "--row", "2400"}).exit_code, 2);
}

TEST(CliTrain, InfoShowsAModelsOptionsAndRecord) {
  const auto json = run_cli({"info", demo_model(), "--json"}).json();
  EXPECT_EQ(json["options"]["method"], "ridge");
  EXPECT_EQ(json["record"]["data"]["name"], "demo");
  EXPECT_EQ(json["record"]["selection"].size(), 48u);
}

TEST(CliTrain, InfoSumsUpLongListsAndJsonHasThemWhole) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string();
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--out", model, "--networks", "100", "--quiet"}).exit_code, 0);
  const auto text = run_cli({"info", model}).out;
  EXPECT_NE(text.find("values: min "), std::string::npos) << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 120) << text;
  const auto record = run_cli({"info", model, "--json"}).json()["record"];
  EXPECT_EQ(record["gates"]["samples_per_network"].size(), 100u);
  EXPECT_EQ(record["refinement"].size(), 4u);  // the start and three steps
}

TEST(CliTrain, WhatMakesFiguresMeaninglessIsSaidByTrainEvalAndInfo) {
  TempDir dir;
  const std::string data = (dir / "data").string(), model = (dir / "m.safetensors").string();
  ASSERT_EQ(run_cli({"data", "synth", data, "--classes", "6", "--unseen", "1", "--samples", "120", "--dimensions", "8",
                     "--attributes", "1"})
                .exit_code,
            0);
  const auto trained = run_cli({"train", "--data", data, "--out", model, "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("warning: the classes have only one attribute"), std::string::npos) << trained.out;
  EXPECT_NE(run_cli({"info", model}).out.find("warning: the classes have only one attribute"), std::string::npos);
  EXPECT_FALSE(run_cli({"info", model, "--json"}).json()["record"]["warnings"].empty());
  const auto text = run_cli({"eval", "--model", model, "--data", data}).out;
  EXPECT_NE(text.find("is the only unseen class: its ZSL is 100 by definition"), std::string::npos) << text;
  EXPECT_EQ(run_cli({"eval", "--model", model, "--data", data, "--json"}).json()["warnings"].size(), 2u);
}

TEST(CliTrain, AModelIsReadableWithFourLinesOfNumpy) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2> /dev/null") != 0)
    GTEST_SKIP() << "PYTHON3 WITH NUMPY NOT FOUND";
  // The very lines of docs/format.md.
  const std::string page = read_text_file(std::string(PARSNETS_SOURCE_DIR) + "/docs/format.md");
  const auto begin = page.find("```python\n") + 10;
  const std::string lines = page.substr(begin, page.find("```", begin) - begin);
  TempDir dir;
  write_text_file(dir / "read.py", "import sys\npath = sys.argv[1]\n" + lines +
                                       "print(tensors['class_semantics'].shape, header['__metadata__']['format'])\n");
  const std::string line = "/usr/bin/python3 " + shell_quoted(dir / "read.py") + " " + shell_quoted(demo_model()) +
                           " > " + shell_quoted(dir / "out");
  ASSERT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(read_text_file(dir / "out"), "(10, 39) parsnets-model\n");
}

TEST(CliTrain, BenchRunsTheAblationAndTheSparsitySweepAndKeepsTheRuns) {
  TempDir dir;
  const std::string small = "--networks=16";
  auto result = run_cli({"bench", "--data", kDemo, "--methods", "ablation", small, "--encoding", "32", "--lambda", "5",
                         "--refine-steps", "2", "--out", (dir / "a/runs.json").string(), "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* row :
       {"| linear map |", "| scln |", "| mmg |", "| scln + mmg |", "| class space |",
        "| class space + attribute weights |", "| class space + refinement |", "| class space + refinement + gates |",
        "| default model |", "default model: what training gives with these options"})
    EXPECT_NE(result.out.find(row), std::string::npos) << row;
  const auto runs = nlohmann::json::parse(read_text_file(dir / "a/runs.json"));
  ASSERT_EQ(runs["methods"].size(), 9u);
  const auto options = [&](std::size_t row) { return runs["methods"][row]["runs"][0]["options"]; };
  EXPECT_EQ(options(0)["method"], "ridge");
  EXPECT_EQ(options(0)["lambda"], 5);
  EXPECT_EQ(options(1)["method"], "scln");
  EXPECT_EQ(options(3)["mmg"], 0.1);
  EXPECT_EQ(options(4)["method"], "parsnets");
  EXPECT_EQ(options(4)["networks"], 0);
  EXPECT_EQ(options(4)["refine-steps"], 0);
  EXPECT_EQ(options(7)["networks"], 100);
  const auto& last = runs["methods"][8];
  const std::string model = (dir / "m.safetensors").string();
  ASSERT_EQ(
      run_cli({"train", "--data", kDemo, "--out", model, small, "--encoding", "32", "--refine-steps", "2", "--quiet"})
          .exit_code,
      0);
  EXPECT_EQ(last["runs"][0]["options"], run_cli({"info", model, "--json"}).json()["options"]);
  EXPECT_TRUE(runs["methods"][6]["runs"][0]["record"].contains("refinement"));

  result = run_cli({"bench", "--data", kDemo, "--sweep", "active=2,8", small, "--encoding", "32", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("| parsnets active=8 |"), std::string::npos) << result.out;
  for (const char* sweep : {"active", "active=", "active=1;networks=2", "lambda=1", "wings=2"}) {
    const auto refused = run_cli({"bench", "--data", kDemo, "--sweep", sweep});
    EXPECT_EQ(refused.exit_code, 2) << sweep;
    EXPECT_NE(refused.err.find("--sweep: "), std::string::npos) << refused.err;
    EXPECT_EQ(refused.err.find("--grid"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(run_cli({"bench", "--data", kDemo, "--sweep", "k", "--methods", "ablation"}).exit_code, 2);
}

TEST(CliTrain, BenchPrintsATableOfMethods) {
  const auto result = run_cli({"bench", "--data", kDemo, "--methods", "ridge,scln:networks=16:encoding=32:active=4",
                               "--seeds", "2", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("| ridge |"), std::string::npos);
  EXPECT_NE(result.out.find(" ± "), std::string::npos);
  EXPECT_EQ(run_cli({"bench", "--data", kDemo, "--methods", "magic"}).exit_code, 2);
  EXPECT_EQ(run_cli({"bench", "--data", kDemo, "--methods", "ridge:wings=2"}).exit_code, 2);
}

TEST(CliTrain, CtrlCLeavesTheEarlierModelAndNothingElse) {
  TempDir dir;
  std::filesystem::create_directory(dir / "out");
  const std::string model = (dir / "out" / "m.safetensors").string();
  write_text_file(model, "an earlier model");
  // The SVR tells of every pass; a hundred thousand joint steps are still to come.
  CliProcess training({"train", "--data", kDemo, "--out", model, "--method", "paper", "--tolerance", "1e-9",
                       "--joint-steps", "100000"});
  ASSERT_TRUE(training.wait_for_line("pass ")) << training.finish().err;
  training.send(SIGINT);
  const auto result = training.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_TRUE(same_bytes(read_text_file(model), "an earlier model"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "out"), {}), 1);
}

TEST(CliTrain, BadModelsAreRefusedWithExitCodeThree) {
  TempDir dir;
  write_text_file(dir / "m", "not a model at all");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"eval", "--data", kDemo}, {"predict", "--input", kDemo + "/features.npy"}, {"classes", "list"}}) {
    auto line = arguments;
    line.push_back("--model");
    line.push_back((dir / "m").string());
    EXPECT_EQ(run_cli(line).exit_code, 3) << line[0];
  }
}

TEST(CliTrain, RidgeOnCubReachesItsKnownAccuracy) {
  const auto folder = shared_data("CUB");
  if (!folder) GTEST_SKIP() << kNoSharedData;
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string();
  const auto trained = run_cli({"train", "--data", *folder, "--features", "res50", "--out", model, "--method", "ridge",
                                "--search", "grid", "--grid", "lambda=0.03,0.1,0.3,1,3,10,30,100", "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto json = run_cli({"eval", "--model", model, "--data", *folder, "--features", "res50", "--json"}).json();
  EXPECT_NEAR(json["zsl"]["top1_per_class"].get<double>(), 51.4, 1.0);
}

}  // namespace parsnets::test
