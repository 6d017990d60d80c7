// What bench keeps when something goes wrong.

#include <gtest/gtest.h>

#include "cli/interrupted.hpp"

namespace parsnets::test {

class CliBench : public FolderTest {
 protected:
  Words bench(const std::string& methods, const Words& more = {}) const {
    return Words{"bench", "--data", kDemo, "--methods", methods, "--out", out.string(), "--quiet"} + more;
  }

  const fs::path out = dir / "runs.json";
};

TEST_F(CliBench, OwnRowsFollowTheMeasuredOnesAndAreMarked) {
  const std::string rows = dir.file("rows.csv");
  write_text_file(rows, "method,data,ZSL,source\nmy|ne,demo,99.5,thesis\nother,elsewhere,1,\n");
  const Words command{"bench", "--data", kDemo, "--methods", "ridge", "--rows", rows, "--quiet"};
  const auto text = run_ok(command);
  EXPECT_TRUE(has(text.out, "| *my/ne* (thesis; own row, not measured here) | 99.5 | - |"));
  EXPECT_FALSE(has(text.out, "*other*"));
  const auto json = run_json(command);
  ASSERT_EQ(json["reference"].size(), 1u);
  EXPECT_TRUE(has_members(json["reference"][0], {{"own", true}, {"measured", false}}));
}

TEST_F(CliBench, PublishedRowsKeepFeaturesAndSource) {
  const auto json = run_json({"bench", "--reference"});
  EXPECT_GE(json["CUB"].size(), 20u);
  for (const auto& row : json["CUB"]) {
    EXPECT_FALSE(row["features"].get<std::string>().empty());
    EXPECT_FALSE(row["source"].get<std::string>().empty());
  }
  const std::string rows = dir.file("rows.json");
  write_text_file(rows, R"([{"method":"mine","data":"mnist","ZSL":12.5},{"method":"mine","data":"cub","ZSL":60}])");
  EXPECT_TRUE(has(run_ok({"bench", "--reference", "--rows", rows}).out, "own row, not measured here"));
  const auto all = run_json({"bench", "--reference", "--rows", rows});
  EXPECT_EQ(all["CUB"].size(), json["CUB"].size() + 1);
  EXPECT_EQ(all["CUB"].back()["own"], true);
  EXPECT_EQ(all["mnist"].size(), 1u);
}

TEST_F(CliBench, AMethodThatFailsIsARowAndTheOthersAreRun) {
  const auto result = run_error(bench("ridge,scln:networks=16:active=17,eszsl"), 1, "1 of 3 methods failed");
  EXPECT_TRUE(has_all(result.out, {"| ridge |", "| scln:networks=16:active=17 (failed: ", "| eszsl |"}));
  const auto methods = json_in(out)["methods"];
  ASSERT_EQ(methods.size(), 3u);
  EXPECT_TRUE(has(methods[1]["error"].get<std::string>(), "active")) << methods[1]["error"];
  EXPECT_TRUE(methods[1]["runs"].empty());
  for (const int done : {0, 2}) {
    EXPECT_FALSE(methods[done].contains("error"));
    EXPECT_EQ(methods[done]["runs"].size(), 1u);
  }
}

TEST_F(CliBench, AnInterruptKeepsWhatIsFinishedAndResumeTakesItOver) {
  const std::string endless =
      "scln:networks=100:encoding=100:active=50:c=1000:fit=svr:tolerance=1e-9:max-passes=10000000";
  EXPECT_EQ(interrupted_after_a_file(bench("ridge," + endless), dir.path()), 130);
  const auto kept = json_in(out);
  ASSERT_EQ(kept["methods"][0]["runs"].size(), 1u);
  EXPECT_EQ(kept["methods"][0]["method"], "ridge");
  for (const auto& entry : fs::directory_iterator(dir.path())) EXPECT_EQ(entry.path(), out);

  run_ok(bench("ridge,eszsl", {"--resume", "--seeds", "2"}));
  const auto methods = json_in(out)["methods"];
  ASSERT_EQ(methods.size(), 2u);
  ASSERT_EQ(methods[0]["runs"].size(), 2u);
  EXPECT_EQ(methods[0]["runs"][0], kept["methods"][0]["runs"][0]) << "taken over, to the time it took";
  EXPECT_EQ(methods[0]["runs"][1]["seed"], 2);
  EXPECT_EQ(methods[1]["runs"].size(), 2u);
}

TEST_F(CliBench, ResumeComputesAnewWhatWasAskedDifferently) {
  run_ok(bench("ridge"));
  const auto before = json_in(out)["methods"][0]["runs"][0];
  run_ok(bench("ridge", {"--resume", "--lambda", "7"}));
  EXPECT_EQ(json_in(out)["methods"][0]["runs"][0]["options"]["lambda"], 7);
  EXPECT_EQ(json_in(out)["methods"][1]["runs"][0], before) << "other rows stay";
}

TEST_F(CliBench, RowsHaveIntervalsAndAreComparedWithTheFirst) {
  const auto result = run_ok(bench("ridge,eszsl,ridge:lambda=1", {"--seeds", "2", "--lambda", "1"}));
  const auto methods = json_in(out)["methods"];
  const auto &ridge = methods[0], &eszsl = methods[1], &same = methods[2];
  EXPECT_FALSE(ridge.contains("versus"));
  for (const auto& row : methods) {
    EXPECT_NEAR(row["intervals"]["zsl"]["estimate"].get<double>(), row["summary"]["zsl"]["mean"].get<double>(), 1e-9);
    EXPECT_NEAR(row["intervals"]["u"]["estimate"].get<double>(), row["summary"]["u"]["mean"].get<double>(), 1e-9);
    EXPECT_LT(row["intervals"]["h"]["low"].get<double>(), row["intervals"]["h"]["high"].get<double>());
    for (const auto& run : row["runs"])
      EXPECT_NEAR(run["intervals"]["h"]["estimate"].get<double>(), run["gzsl"]["h"].get<double>(), 1e-9);
  }
  EXPECT_EQ(eszsl["versus"]["method"], "ridge");
  EXPECT_NEAR(eszsl["versus"]["s"]["difference"].get<double>(),
              eszsl["summary"]["s"]["mean"].get<double>() - ridge["summary"]["s"]["mean"].get<double>(), 1e-9);
  EXPECT_EQ(same["versus"]["h"]["difference"], 0);
  EXPECT_EQ(same["versus"]["h"]["p"], 1);
  EXPECT_TRUE(has_all(result.out, {" ± ", "95 % intervals over classes and samples", "difference from ridge"}));
}

TEST_F(CliBench, RunsThatDoNotSayWhichSamplesWereRightAreResumedWithoutIntervals) {
  run_ok(bench("ridge"));
  auto file = nlohmann::ordered_json::parse(read_text_file(out));  // the order of options tells rows apart
  auto& row = file["methods"][0];
  row.erase("intervals");
  for (const char* key : {"correct", "intervals"}) row["runs"][0].erase(key);
  const nlohmann::json old_run = row["runs"][0];
  write_text_file(out, file.dump());
  const auto result = run_ok(bench("ridge,eszsl", {"--resume"}));
  const auto methods = json_in(out)["methods"];
  EXPECT_EQ(methods[0]["runs"][0], old_run);
  EXPECT_FALSE(methods[0].contains("intervals"));
  EXPECT_TRUE(methods[1].contains("intervals"));
  EXPECT_FALSE(methods[1].contains("versus"));
  EXPECT_FALSE(has(result.out, "difference from"));
}

TEST_F(CliBench, ResumeRefusesAFileOfOtherData) {
  run_error({"bench", "--data", kDemo, "--resume"}, 2);  // without --out
  write_text_file(out, "{\"methods\": 3}\n");
  run_error(bench("ridge", {"--resume"}), 3);
  run_ok(bench("ridge"));
  auto other = json_in(out);
  other["checksum"] = "00000000";
  write_text_file(out, other.dump());
  run_error(bench("ridge", {"--resume"}), 3, "checksum");
}

}  // namespace parsnets::test
