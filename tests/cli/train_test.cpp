// Training to prediction, run as a user would.

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_cli.hpp"
#include "csv_table.hpp"
#include "formats/csv.hpp"
#include "same_bytes.hpp"
#include "shared_data.hpp"

namespace parsnets::test {

namespace {

/// A model trained on the demo set, made once.
const std::string& demo_model() { return model_of_demo({"--method", "ridge", "--search", "grid"}); }

}  // namespace

using CliTrain = FolderTest;

TEST_F(CliTrain, WithoutASplitAllSamplesTrain) {
  const std::string folder = dir.file("d");
  fs::copy(kDemo, folder, kRecursive);
  fs::remove(folder + "/split.json");
  EXPECT_TRUE(
      has(run_ok({"train", folder, "--method", "eszsl", "-o", dir.file("m.safetensors")}).out, "all samples train"));
  run_error({"eval", dir.file("m.safetensors"), folder}, 3, "draw a split that holds classes out");
}

TEST_F(CliTrain, OptionsThatTheMethodDoesNotHaveAreRefused) {
  const std::string out = dir.file("m.safetensors"), config = dir.file("config");
  write_text_file(config, "method = ridge\nrefine-steps = 3\nfit = svr\n");
  for (const auto& [words, message] : std::vector<std::pair<Words, std::string>>{
           {{"train", "--data", kDemo, "--out", out, "--c", "0.5"}, "--method parsnets does not have --c"},
           // Whatever its value, also the default one.
           {{"train", "--data", kDemo, "--out", out, "--fit", "svr"}, "--method parsnets does not have --fit"},
           {{"train", "--data", kDemo, "--out", out, "--config", config},
            "--method ridge does not have --refine-steps, --fit"},
           {{"train", "--fit", "svr", "--print-config"}, "--method parsnets does not have --fit"},
           {{"train", "--data", kDemo, "--out", out, "--refine-steps", "1", "--method", "paper"},
            "--method paper does not have --refine-steps"},
           {{"bench", "--data", kDemo, "--methods", "ridge:c=0.5"}, "--method ridge does not have --c"}})
    run_error(words, 2, message);
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(CliTrain, HelpShowsTheOptionsOfTheMethod) {
  const std::string own = run_cli({"train", "--help"}).out,
                    paper = run_cli({"train", "--method", "paper", "--help"}).out,
                    all = run_cli({"train", "--help-all"}).out;
  EXPECT_TRUE(has(own, "--prototype-width") && !has(own, "--max-passes") && !has(own, "--sharpness")) << own;
  EXPECT_TRUE(has(paper, "--max-passes") && !has(paper, "--prototype-width")) << paper;
  EXPECT_TRUE(
      has_all(all, {"--prototype-width", "--max-passes", "--sharpness", "--semantic-lambda", "--original-att"}));
}

TEST_F(CliTrain, ThereIsNoOtherLinearAlgebraThanOurOwn) {
  const std::string program = read_text_file(PARSNETS_BINARY);
  if (program.starts_with("#!")) GTEST_SKIP() << "the tool is started by a script";
  const auto imports = [&](const std::string& name) { return program.find('\0' + name + '\0') != std::string::npos; };
  ASSERT_TRUE(imports("inflate")) << "names of functions are not to be found";
  for (const std::string name : {"dgemm_", "sgemm_", "cblas_dgemm", "dsyevr_", "dgeqrf_"}) EXPECT_FALSE(imports(name));
  for (const char* library : {"openblas", "lapack", "libblas"}) EXPECT_FALSE(has(program, library)) << library;
}

TEST_F(CliTrain, TheDemoSetTrainsAndEvaluates) {
  const auto json = run_json({"eval", "--model", demo_model(), "--data", kDemo});
  EXPECT_GT(json["zsl"]["top1_per_class"].get<double>(), 85);
  EXPECT_GT(json["gzsl"]["h"].get<double>(), 50);
  EXPECT_TRUE(has_members(json, {{"gzsl", {{"gamma_from", "validation classes"}}}, {"features", "features.npy"}}));
  EXPECT_EQ(json["per_class"]["zsl"].size(), 2u);
}

TEST_F(CliTrain, AusucIsPercentInTablesRunsAndSummaries) {
  const auto bench = run_json({"bench", "--data", kDemo, "--methods", "ridge", "--quiet"});
  const auto eval = run_json({"eval", "--model", model_of_demo(kRidge), "--data", kDemo});
  const auto& method = bench["methods"][0];
  const double area = eval["gzsl"]["ausuc"].get<double>();
  EXPECT_GT(area, 50);
  EXPECT_LE(area, 100);
  EXPECT_EQ(method["runs"][0]["gzsl"]["ausuc"].get<double>(), area);
  EXPECT_EQ(method["summary"]["ausuc"]["mean"].get<double>(), area);
  for (const auto* object : {&bench, &eval, &method["runs"][0]}) EXPECT_EQ(object->at("units"), "percent");
}

TEST_F(CliTrain, EvalRefusesASplitWhoseTestSamplesWereTrainedOnUnlessAllowed) {
  const std::string folder = dir.file("demo");
  fs::copy(kDemo, folder, kRecursive);
  auto split = json_in(folder + "/split.json");
  auto& test = split["test_seen_samples"];
  test.erase(test.begin());
  write_text_file(folder + "/split.json", split.dump());
  run_ok({"eval", "--model", demo_model(), "--data", folder});  // fewer, none trained on
  test.push_back(0);
  write_text_file(folder + "/split.json", split.dump());
  run_error({"eval", "--model", demo_model(), "--data", folder}, 3, "found 1 of");
  const Words allowed{"eval", "--model", demo_model(), "--data", folder, "--force"};
  EXPECT_TRUE(has(run_cli(allowed).out, "trained on 1 of these samples"));
  EXPECT_EQ(run_json(allowed)["trained_samples"], 1);
}

TEST_F(CliTrain, UnseenClassesShareTheWholeConfidenceOfAPredictionAmongThem) {
  const auto json = run_json({"predict", "--model", demo_model(), "--input", kDemo + "/features.npy", "--top", "3",
                              "--among", "unseen", "--batch", "999"});
  ASSERT_EQ(json["predictions"].size(), 2400u);
  double sum = 0;
  for (const auto& one : json["predictions"][7]["top"]) {
    sum += one["confidence"].get<double>();
    EXPECT_FALSE(one["seen"].get<bool>());
  }
  EXPECT_NEAR(sum, 1.0, 1e-3);
}

TEST_F(CliTrain, ClassesAreAddedAndRemovedWithoutTraining) {
  const std::string model = dir.file("m.safetensors");
  fs::copy(demo_model(), model);
  run_ok({"classes", "remove", "--model", model, "--classes", "truck"});
  run_error({"eval", "--model", model, "--data", kDemo}, 3);  // truck is gone
  run_ok({"classes", "add", "--model", model, "--attributes", kDemo + "/attributes.csv", "--classes", "truck"});
  const auto listed = run_json({"classes", "list", "--model", model})["classes"];
  ASSERT_EQ(listed.size(), 10u);
  EXPECT_EQ(listed.back(), nlohmann::json({{"class", "truck"}, {"seen", false}}));
  EXPECT_EQ(run_json({"eval", "--model", model, "--data", kDemo})["zsl"],
            run_json({"eval", "--model", demo_model(), "--data", kDemo})["zsl"]);
  const std::string before = read_text_file(model);
  run_error({"classes", "add", "--model", model, "--attributes", kDemo + "/attributes.csv", "--classes", "truck"},
            3);  // twice
  EXPECT_TRUE(same_bytes(read_text_file(model), before));
}

TEST_F(CliTrain, SeveralTablesOfSemanticsAreWeighedAndNamedEverywhere) {
  const std::string data = dir.file("data"), model = dir.file("m.safetensors"), device = dir.file("m.pnrt");
  fs::copy(kDemo, data);
  CsvTable table = test::table_of(read_csv(data + "/attributes.csv", true));
  std::ranges::reverse(table.rows);
  write_csv(data + "/again.csv", table);
  const auto trained = run_json({"train", "--data", data, "--semantics", "att,again", "--out", model});
  EXPECT_EQ(trained["record"]["data"]["semantics"], "att,again");
  EXPECT_EQ(trained["record"]["selection"].size(), 9u);
  const std::string weights = trained["options"]["semantic-weights"];
  const auto evaluated = run_json({"eval", "--model", model, "--data", data});
  EXPECT_TRUE(has_members(evaluated, {{"semantics", "att,again"}, {"semantic_weights", weights}}));
  // The same table twice says what it says once.
  const auto one = run_json({"eval", "--model", model_of_demo(), "--data", kDemo});
  EXPECT_NEAR(evaluated["zsl"]["top1_per_class"].get<double>(), one["zsl"]["top1_per_class"].get<double>(), 0.5);
  EXPECT_EQ(run_json({"data", "inspect", data, "--semantics", "att,again"})["tables"].size(), 2u);
  run_error({"eval", "--model", model, "--data", data, "--semantics", "att"}, 3);
  run_error({"train", "--data", data, "--semantics", "att,again", "--out", model, "--semantic-weights", "1"}, 2);
  run_ok({"export", "--model", model, "--out", device, "--data", data, "--max-drop", "100"});
}

TEST_F(CliTrain, ExplainNamesAttributesThatAddUp) {
  const auto json = run_json({"explain", "--model", demo_model(), "--input", kDemo + "/features.npy", "--row", "1100"});
  EXPECT_EQ(json["attributes"].size(), 39u);
  EXPECT_NE(json["winner"], json["runner_up"]);
  run_error({"explain", "--model", demo_model(), "--input", kDemo + "/features.npy", "--row", "2400"}, 2);
}

TEST_F(CliTrain, InfoShowsAModelsOptionsAndRecord) {
  const auto json = run_json({"info", demo_model()});
  EXPECT_TRUE(has_members(json, {{"options", {{"method", "ridge"}}}, {"record", {{"data", {{"name", "demo"}}}}}}));
  EXPECT_EQ(json["record"]["selection"].size(), 48u);
}

TEST_F(CliTrain, InfoSumsUpLongListsAndJsonHasThemWhole) {
  const std::string& model = model_of_demo({"--networks", "100"});
  const auto text = run_cli({"info", model}).out;
  EXPECT_TRUE(has(text, "values: min "));
  EXPECT_LT(std::ranges::count(text, '\n'), 120) << text;
  const auto record = run_json({"info", model})["record"];
  EXPECT_EQ(record["gates"]["samples_per_network"].size(), 100u);
  EXPECT_EQ(record["refinement"].size(), 4u);  // the start and three steps
}

TEST_F(CliTrain, WhatMakesFiguresMeaninglessIsSaidByTrainEvalAndInfo) {
  const std::string data = dir.file("data"), model = dir.file("m.safetensors");
  run_ok({"data", "synth", data, "--classes", "6", "--unseen", "1", "--samples", "120", "--dimensions", "8",
          "--attributes", "1"});
  for (const Words& words : {Words{"train", "--data", data, "--out", model, "--quiet"}, Words{"info", model}})
    EXPECT_TRUE(has(run_ok(words).out, "warning: the classes have only one attribute"));
  EXPECT_FALSE(run_json({"info", model})["record"]["warnings"].empty());
  const auto text = run_cli({"eval", "--model", model, "--data", data}).out;
  EXPECT_TRUE(has(text, "is the only unseen class: its ZSL is 100 by definition"));
  EXPECT_EQ(run_json({"eval", "--model", model, "--data", data})["warnings"].size(), 2u);
}

TEST_F(CliTrain, AModelIsReadableWithFourLinesOfNumpy) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2> /dev/null") != 0)
    GTEST_SKIP() << "PYTHON3 WITH NUMPY NOT FOUND";
  // The very lines of docs/format.md.
  const std::string page = read_text_file(std::string(PARSNETS_SOURCE_DIR) + "/docs/format.md");
  const auto begin = page.find("```python\n") + 10;
  const std::string lines = page.substr(begin, page.find("```", begin) - begin);
  write_text_file(dir / "read.py", "import sys\npath = sys.argv[1]\n" + lines +
                                       "print(tensors['class_semantics'].shape, header['__metadata__']['format'])\n");
  const std::string line = "/usr/bin/python3 " + shell_quoted(dir / "read.py") + " " + shell_quoted(demo_model()) +
                           " > " + shell_quoted(dir / "out");
  ASSERT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(read_text_file(dir / "out"), "(10, 39) parsnets-model\n");
}

TEST_F(CliTrain, BenchRunsTheAblationAndTheSparsitySweepAndKeepsTheRuns) {
  const std::string small = "--networks=16";
  auto result = run_ok({"bench", "--data", kDemo, "--methods", "ablation", small, "--encoding", "32", "--lambda", "5",
                        "--refine-steps", "2", "--out", dir.file("a/runs.json"), "--quiet"});
  EXPECT_TRUE(has_all(result.out, {"| linear map |", "| scln |", "| mmg |", "| scln + mmg |", "| class space |",
                                   "| class space + attribute weights |", "| class space + refinement |",
                                   "| class space + refinement + gates |", "| default model |",
                                   "default model: what training gives with these options"}));
  const auto runs = json_in(dir / "a/runs.json");
  ASSERT_EQ(runs["methods"].size(), 9u);
  const auto options = [&](std::size_t row) { return runs["methods"][row]["runs"][0]["options"]; };
  EXPECT_TRUE(has_members(options(0), {{"method", "ridge"}, {"lambda", 5}}));
  EXPECT_EQ(options(1)["method"], "scln");
  EXPECT_EQ(options(3)["mmg"], 0.1);
  EXPECT_TRUE(has_members(options(4), {{"method", "parsnets"}, {"networks", 0}, {"refine-steps", 0}}));
  EXPECT_EQ(options(7)["networks"], 100);
  const std::string& model = model_of_demo({small, "--encoding", "32", "--refine-steps", "2"});
  EXPECT_EQ(options(8), run_json({"info", model})["options"]);
  EXPECT_TRUE(runs["methods"][6]["runs"][0]["record"].contains("refinement"));

  result = run_ok({"bench", "--data", kDemo, "--sweep", "active=2,8", small, "--encoding", "32", "--quiet"});
  EXPECT_TRUE(has(result.out, "| parsnets active=8 |"));
  for (const char* sweep : {"active", "active=", "active=1;networks=2", "lambda=1", "wings=2"})
    EXPECT_FALSE(has(run_error({"bench", "--data", kDemo, "--sweep", sweep}, 2, "--sweep: ").err, "--grid"));
  run_error({"bench", "--data", kDemo, "--sweep", "k", "--methods", "ablation"}, 2);
  for (const char* methods : {"magic", "ridge:wings=2"}) run_error({"bench", "--data", kDemo, "--methods", methods}, 2);
}

TEST_F(CliTrain, CtrlCLeavesTheEarlierModelAndNothingElse) {
  fs::create_directory(dir / "out");
  const std::string model = dir.file("out/m.safetensors");
  write_text_file(model, "an earlier model");
  // The SVR tells of every pass; a hundred thousand joint steps are still to come.
  CliProcess training({"train", "--data", kDemo, "--out", model, "--method", "paper", "--tolerance", "1e-9",
                       "--joint-steps", "100000"});
  ASSERT_TRUE(training.wait_for_line("pass ")) << training.finish().err;
  training.send(SIGINT);
  expect_error(training.finish(), 130, "interrupted");
  EXPECT_TRUE(same_bytes(read_text_file(model), "an earlier model"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir / "out"), {}), 1);
}

TEST_F(CliTrain, BadModelsAreRefusedWithExitCodeThree) {
  write_text_file(dir / "m", "not a model at all");
  for (const auto& arguments : std::vector<Words>{
           {"eval", "--data", kDemo}, {"predict", "--input", kDemo + "/features.npy"}, {"classes", "list"}})
    run_error(arguments + Words{"--model", dir.file("m")}, 3);
}

TEST_F(CliTrain, RidgeOnCubReachesItsKnownAccuracy) {
  const auto folder = shared_data("CUB");
  if (!folder) GTEST_SKIP() << kNoSharedData;
  const std::string model = dir.file("m.safetensors");
  run_ok({"train", "--data", *folder, "--features", "res50", "--out", model, "--method", "ridge", "--search", "grid",
          "--grid", "lambda=0.03,0.1,0.3,1,3,10,30,100", "--quiet"});
  const auto json = run_json({"eval", "--model", model, "--data", *folder, "--features", "res50"});
  EXPECT_NEAR(json["zsl"]["top1_per_class"].get<double>(), 51.4, 1.0);
}

}  // namespace parsnets::test
