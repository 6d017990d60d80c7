// The report command, run as a user would.

#include <gtest/gtest.h>

#include <map>

#include "base/file.hpp"
#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {

/// A run of a method in this folder.
void train_run(const std::string& run, const std::string& data = kDemo, const std::string& method = "ridge") {
  run_ok({"train", "--data", data, "--run", run, "--method", method, "--quiet"});
}

/// The data of the report on these runs.
nlohmann::json report_on(const std::string& runs, const Words& more = {}) {
  TempDir dir;
  run_ok(Words{"report", "--run", runs, "--out", dir.file("data.json"), "--points", "50", "--quiet"} + more);
  return json_in(dir / "data.json");
}

}  // namespace

using CliReport = FolderTest;

TEST_F(CliReport, SeveralTablesAreNamedWithTheirWeightsAndAttributesOfAllAreJudged) {
  const std::string run = dir.file("run"), set = dir.file("set");
  fs::copy(kDemo, set);
  fs::copy(kDemo + "/attributes.csv", set + "/again.csv");
  run_ok({"train", "--data", set, "--semantics", "att,again", "--semantic-weights", "1,3", "--run", run, "--quiet"});
  const auto one = report_on(run)["runs"][0];
  EXPECT_EQ(one["summary"]["semantics"], "att,again weighted 1,3");
  const auto& attributes = one["attributes"];
  ASSERT_EQ(attributes.size(), 78u);
  std::map<std::string, double> correlation;
  for (const auto& a : attributes)
    if (!a["correlation"].is_null()) correlation[a["name"]] = a["correlation"];
  EXPECT_GT(correlation.size(), 20u);
  double mean = 0;
  for (const auto& [name, value] : correlation) {
    if (name.starts_with("att:")) {
      EXPECT_NEAR(value, correlation.at("again:" + name.substr(4)), 1e-4) << name;
    }
    mean += value / static_cast<double>(correlation.size());
  }
  EXPECT_GT(mean, 0.3) << "attributes are predicted, not coordinates of class space";
}

TEST_F(CliReport, FiguresInThePageAreThoseOfEval) {
  const std::string run = dir.file("run"), page = dir.file("out/report.html");
  train_run(run);
  run_ok({"bench", "--data", kDemo, "--methods", "ridge", "--sweep", "lambda=1,10", "--out", run + "/sweep.json",
          "--quiet"});
  run_ok({"report", "--run", run, "--out", page, "--points", "100", "--quiet"});
  const auto eval = run_json({"eval", "--model", run + "/model.safetensors", "--data", kDemo});
  const auto one = report_on(run)["runs"][0];
  EXPECT_EQ(one["summary"]["zsl"], eval["zsl"]["top1_per_class"]);
  for (const char* figure : {"u", "s", "h", "ausuc", "gamma"}) EXPECT_EQ(one["summary"][figure], eval["gzsl"][figure]);
  EXPECT_EQ(one["summary"]["units"], "percent");
  for (const auto& c : one["per_class"])
    for (const auto& [key, list] :
         {std::pair("zsl", "zsl"), std::pair("gzsl", c["unseen"].get<bool>() ? "gzsl_unseen" : "gzsl_seen")}) {
      if (c[key].is_null()) continue;
      bool found = false;
      for (const auto& e : eval["per_class"][list]) found = found || (e["class"] == c["class"] && e["top1"] == c[key]);
      EXPECT_TRUE(found) << c.dump();
    }
  EXPECT_EQ(one["sweep"]["rows"].size(), 2u);
  EXPECT_TRUE(has(one["provenance"]["command"].get<std::string>(), "--method ridge"));
  const std::string text = read_text_file(page);
  EXPECT_TRUE(has(text, "data:image/jpeg;base64")) << "the demo set has photographs";
  EXPECT_LT(text.size(), 5u << 20);
}

TEST_F(CliReport, OwnRowsAreShownBesidePublishedOnesAndMarked) {
  const std::string run = dir.file("run"), page = dir.file("report.html"), rows = dir.file("rows.csv");
  write_text_file(rows, "method,data,semantics,ZSL,U,S\nmine,Demo,attributes,99.5,60,40\nother,elsewhere,,1,,\n");
  train_run(run);
  const auto report = report_on(run, {"--rows", rows});
  ASSERT_EQ(report["reference"].size(), 1u) << "the other row is about another data set";
  EXPECT_TRUE(
      has_members(report["reference"][0], {{"method", "mine"}, {"h", 48.0}, {"own", true}, {"measured", false}}));
  EXPECT_TRUE(report["runs"][0]["rank"].is_null()) << "the rank is among published rows";
  write_text_file(rows, "method,data,ZSL\nmine,demo,999\n");
  run_error({"report", "--run", run, "--out", page, "--rows", rows}, 3, "rows.csv:2");
}

TEST_F(CliReport, BadInputGetsOneClearErrorAndNoPage) {
  const std::string page = dir.file("report.html");
  run_error({"report", "--out", page}, 2);
  run_error({"report", "--run", dir.file("none"), "--out", page}, 3, "--run");
  const std::string run = dir.file("run");
  train_run(run);
  write_text_file(run + "/bench.json", "{ no json");
  run_error({"report", "--run", run, "--out", page}, 3);
  fs::remove(run + "/bench.json");
  write_text_file(run + "/run.json", "{}");
  run_error({"report", "--run", run, "--out", page}, 3);
  fs::remove(run + "/run.json");
  run_error({"report", "--run", run, "--out", page}, 2);  // no data set known
  EXPECT_FALSE(fs::exists(page));
  run_ok({"report", "--run", run, "--data", kDemo, "--out", page, "--quiet"});
}

TEST_F(CliReport, RunsOnSeveralDataSetsAreEvaluatedOnTheirOwnAndShareAnOverview) {
  const std::string other = dir.file("other"), table = dir.file("rows.csv");
  run_ok({"data", "synth", other, "--classes", "12", "--attributes", "16", "--samples", "600", "--dimensions", "32",
          "--quiet"});
  write_text_file(table, "method,data,ZSL\nmine,other,12\n");
  std::string runs;
  for (const auto& [set, folder] : {std::pair(kDemo, "demo"), std::pair(other, "other")})
    for (const char* method : {"ridge", "eszsl"}) {
      const std::string run = (dir / folder / method).string();
      train_run(run, set, method);
      runs += (runs.empty() ? "" : ",") + run;
    }
  const std::string out = dir.file("data.json");
  const Words words{"report", "--run", runs, "--out", out, "--points", "50", "--rows", table, "--quiet"};
  EXPECT_EQ(run_json(words)["data_sets"], 2);
  const auto report = json_in(out);
  const auto& overview = report["overview"];
  EXPECT_EQ(overview["parts"], (nlohmann::json{"demo", "other"}));
  ASSERT_EQ(overview["rows"].size(), 2u) << "runs of one name are one method";
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t m = 0; m < 2; ++m) {
      const std::string method = overview["rows"][m]["method"], part = overview["parts"][p];
      const auto eval = run_json(
          {"eval", "--model", (dir / part / method / "model.safetensors").string(), "--data", p == 0 ? kDemo : other});
      EXPECT_EQ(overview["rows"][m]["cells"][p]["zsl"], eval["zsl"]["top1_per_class"]) << part << method;
      EXPECT_EQ(overview["rows"][m]["cells"][p]["h"], eval["gzsl"]["h"]) << part << method;
      EXPECT_EQ(report["parts"][p]["runs"][m]["name"], method);
    }
  EXPECT_TRUE(report["parts"][0]["reference"].empty());
  EXPECT_EQ(report["parts"][1]["reference"][0]["method"], "mine");
  EXPECT_FALSE(report["parts"][0]["thumbnails"].is_null());
  EXPECT_TRUE(report["parts"][1]["thumbnails"].is_null());
}

TEST_F(CliReport, RunFoldersOfOneNameAreAllCalledByTheirPath) {
  const std::string first = dir.file("a/x"), second = dir.file("b/x");
  for (const auto& run : {first, second}) train_run(run);
  const auto shown = report_on(first + "," + second)["runs"];
  EXPECT_EQ(shown[0]["name"], first);
  EXPECT_EQ(shown[1]["name"], second);
}

}  // namespace parsnets::test
