// The report command, run as a user would.

#include <gtest/gtest.h>

#include <map>

#include "base/file.hpp"
#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {}  // namespace

TEST(CliReport, SeveralTablesAreNamedWithTheirWeightsAndAttributesOfAllAreJudged) {
  TempDir dir;
  const std::string run = (dir / "run").string(), set = (dir / "set").string(), data = (dir / "data.json").string();
  std::filesystem::copy(kDemo, set);
  std::filesystem::copy(kDemo + "/attributes.csv", set + "/again.csv");
  ASSERT_EQ(run_cli({"train", "--data", set, "--semantics", "att,again", "--semantic-weights", "1,3", "--run", run,
                     "--quiet"})
                .exit_code,
            0);
  ASSERT_EQ(run_cli({"report", "--run", run, "--out", data, "--points", "100", "--quiet"}).exit_code, 0);
  const auto one = nlohmann::json::parse(read_text_file(data))["runs"][0];
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

TEST(CliReport, FiguresInThePageAreThoseOfEval) {
  TempDir dir;
  const std::string run = (dir / "run").string(), page = (dir / "out/report.html").string(),
                    data = (dir / "data.json").string();
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--run", run, "--method", "ridge", "--quiet"}).exit_code, 0);
  ASSERT_EQ(run_cli({"bench", "--data", kDemo, "--methods", "ridge", "--sweep", "lambda=1,10", "--out",
                     run + "/sweep.json", "--quiet"})
                .exit_code,
            0);
  for (const auto& out : {page, data}) {
    const auto result = run_cli({"report", "--run", run, "--out", out, "--points", "100", "--quiet"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  const auto eval = run_cli({"eval", "--model", run + "/model.safetensors", "--data", kDemo, "--json"}).json();
  const auto one = nlohmann::json::parse(read_text_file(data))["runs"][0];
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
  EXPECT_NE(one["provenance"]["command"].get<std::string>().find("--method ridge"), std::string::npos);
  const std::string text = read_text_file(page);
  EXPECT_NE(text.find("data:image/jpeg;base64"), std::string::npos) << "the demo set has photographs";
  EXPECT_LT(text.size(), 5u << 20);
}

TEST(CliReport, OwnRowsAreShownBesidePublishedOnesAndMarked) {
  TempDir dir;
  const std::string run = (dir / "run").string(), page = (dir / "report.html").string(),
                    data = (dir / "data.json").string(), rows = (dir / "rows.csv").string();
  write_text_file(rows, "method,data,semantics,ZSL,U,S\nmine,Demo,attributes,99.5,60,40\nother,elsewhere,,1,,\n");
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--run", run, "--method", "ridge", "--quiet"}).exit_code, 0);
  ASSERT_EQ(run_cli({"report", "--run", run, "--out", data, "--points", "50", "--rows", rows, "--quiet"}).exit_code, 0);
  const auto report = nlohmann::json::parse(read_text_file(data));
  ASSERT_EQ(report["reference"].size(), 1u) << "the other row is about another data set";
  EXPECT_EQ(report["reference"][0]["method"], "mine");
  EXPECT_EQ(report["reference"][0]["h"], 48.0);
  EXPECT_EQ(report["reference"][0]["own"], true);
  EXPECT_EQ(report["reference"][0]["measured"], false);
  EXPECT_TRUE(report["runs"][0]["rank"].is_null()) << "the rank is among published rows";
  write_text_file(rows, "method,data,ZSL\nmine,demo,999\n");
  const auto bad = run_cli({"report", "--run", run, "--out", page, "--rows", rows});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_NE(bad.err.find("rows.csv:2"), std::string::npos) << bad.err;
}

TEST(CliReport, BadInputGetsOneClearErrorAndNoPage) {
  TempDir dir;
  const std::string page = (dir / "report.html").string();
  EXPECT_EQ(run_cli({"report", "--out", page}).exit_code, 2);
  const auto missing = run_cli({"report", "--run", (dir / "none").string(), "--out", page});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("--run"), std::string::npos) << missing.err;
  const std::string run = (dir / "run").string();
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--run", run, "--method", "ridge", "--quiet"}).exit_code, 0);
  write_text_file(run + "/bench.json", "{ no json");
  EXPECT_EQ(run_cli({"report", "--run", run, "--out", page}).exit_code, 3);
  std::filesystem::remove(run + "/bench.json");
  write_text_file(run + "/run.json", "{}");
  EXPECT_EQ(run_cli({"report", "--run", run, "--out", page}).exit_code, 3);
  std::filesystem::remove(run + "/run.json");
  EXPECT_EQ(run_cli({"report", "--run", run, "--out", page}).exit_code, 2) << "no data set known";
  EXPECT_FALSE(std::filesystem::exists(page));
  EXPECT_EQ(run_cli({"report", "--run", run, "--data", kDemo, "--out", page, "--quiet"}).exit_code, 0);
}

TEST(CliReport, RunsOnSeveralDataSetsAreEvaluatedOnTheirOwnAndShareAnOverview) {
  TempDir dir;
  const std::string other = (dir / "other").string(), data = (dir / "data.json").string(),
                    table = (dir / "rows.csv").string();
  ASSERT_EQ(run_cli({"data", "synth", other, "--classes", "12", "--attributes", "16", "--samples", "600",
                     "--dimensions", "32", "--quiet"})
                .exit_code,
            0);
  write_text_file(table, "method,data,ZSL\nmine,other,12\n");
  std::string runs;
  for (const auto& [set, folder] : {std::pair(kDemo, "demo"), std::pair(other, "other")})
    for (const char* method : {"ridge", "eszsl"}) {
      const std::string run = (dir / folder / method).string();
      ASSERT_EQ(run_cli({"train", "--data", set, "--run", run, "--method", method, "--quiet"}).exit_code, 0);
      runs += (runs.empty() ? "" : ",") + run;
    }
  const auto made =
      run_cli({"report", "--run", runs, "--out", data, "--points", "50", "--rows", table, "--quiet", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.json()["data_sets"], 2);
  const auto report = nlohmann::json::parse(read_text_file(data));
  const auto& overview = report["overview"];
  EXPECT_EQ(overview["parts"], (nlohmann::json{"demo", "other"}));
  ASSERT_EQ(overview["rows"].size(), 2u) << "runs of one name are one method";
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t m = 0; m < 2; ++m) {
      const std::string method = overview["rows"][m]["method"], part = overview["parts"][p];
      const auto eval = run_cli({"eval", "--model", (dir / part / method / "model.safetensors").string(), "--data",
                                 p == 0 ? kDemo : other, "--json"})
                            .json();
      EXPECT_EQ(overview["rows"][m]["cells"][p]["zsl"], eval["zsl"]["top1_per_class"]) << part << method;
      EXPECT_EQ(overview["rows"][m]["cells"][p]["h"], eval["gzsl"]["h"]) << part << method;
      EXPECT_EQ(report["parts"][p]["runs"][m]["name"], method);
    }
  EXPECT_TRUE(report["parts"][0]["reference"].empty());
  EXPECT_EQ(report["parts"][1]["reference"][0]["method"], "mine");
  EXPECT_FALSE(report["parts"][0]["thumbnails"].is_null());
  EXPECT_TRUE(report["parts"][1]["thumbnails"].is_null());
}

TEST(CliReport, RunFoldersOfOneNameAreAllCalledByTheirPath) {
  TempDir dir;
  const std::string data = (dir / "data.json").string();
  std::string runs;
  for (const char* folder : {"a/x", "b/x"}) {
    const std::string run = (dir / folder).string();
    ASSERT_EQ(run_cli({"train", "--data", kDemo, "--run", run, "--method", "ridge", "--quiet"}).exit_code, 0);
    runs += (runs.empty() ? "" : ",") + run;
  }
  ASSERT_EQ(run_cli({"report", "--run", runs, "--out", data, "--points", "50", "--quiet"}).exit_code, 0);
  const auto shown = nlohmann::json::parse(read_text_file(data))["runs"];
  EXPECT_EQ(shown[0]["name"], (dir / "a/x").string());
  EXPECT_EQ(shown[1]["name"], (dir / "b/x").string());
}

}  // namespace parsnets::test
