// The command line that `info` prints: it repeats the training that made a model.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "formats/safetensors.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

struct CliRepeat : FolderTest {
  std::string place = dir.file("place");  ///< holds a copy of the demo set

  void SetUp() override {
    fs::create_directory(place);
    fs::copy(kDemo, place + "/demo", kRecursive);
  }

  /// Runs the command in `place`, on one thread; the model that it writes must have the same bytes.
  void expect_repeated(const std::string& model) {
    const std::string line = run_json({"info", model})["made_by"],
                      again = place + "/" + fs::path(model).filename().string();
    ASSERT_TRUE(line.starts_with("parsnets train --data demo ")) << line;
    const std::string tool = shell_quoted(PARSNETS_BINARY), there = shell_quoted(place);
    const std::string command = "cd " + there + " && " + tool + line.substr(8) + " --threads 1 --quiet > log 2>&1";
    EXPECT_EQ(exit_code_of(std::system(command.c_str())), 0) << line;
    EXPECT_TRUE(same_file_bytes(model, again)) << line;
  }
};

}  // namespace

TEST_F(CliRepeat, TheSameTrainingGivesTheSameBytes) {
  const std::vector<Words> requests{
      {},
      {"--seed", "5", "--networks", "8", "--sharpness", "10", "--shrinkage", "0.3"},
      {"--search", "auto", "--folds", "2", "--time-budget", "0", "--refine-steps", "1"},
      {"--method", "paper", "--networks", "8", "--encoding", "16", "--active", "4", "--max-passes", "3"},
      {"--method", "ridge", "--search", "grid", "--grid", "lambda=1,3"}};
  for (const auto& request : requests) expect_repeated(train_demo(dir.file("m.safetensors"), request));
}

TEST_F(CliRepeat, ASplitFileIsFoundWhereItWas) {
  const std::string model = dir.file("m.safetensors"), split = dir.file("other split.json");
  fs::copy(kDemo + "/split.json", split);
  train_demo(model, {"--split", split, "--method", "ridge"});
  EXPECT_TRUE(has(run_cli({"info", model}).out, "made by: parsnets train --data demo --split '" + split +
                                                    "' --method ridge --seed 1 --out m.safetensors\n"));
  expect_repeated(model);
}

TEST_F(CliRepeat, ModelsFromStatisticsNeedThemAgain) {
  const std::string sums = place + "/s.safetensors", model = dir.file("m.safetensors");
  run_ok({"stats", "--data", kDemo, "--out", sums, "--quiet"});
  train_demo(model, {"--stats", sums, "--shrinkage", "2"});
  EXPECT_EQ(run_json({"info", model})["made_by"],
            "parsnets train --data demo --stats s.safetensors --shrinkage 2.0 --seed 1 --out m.safetensors");
  expect_repeated(model);
}

TEST_F(CliRepeat, AModelWithoutARequestHasNoCommand) {
  const std::string old = dir.file("old.safetensors");
  const SafetensorsFile file(model_of_demo(kRidge));
  auto metadata = file.metadata();
  auto record = nlohmann::json::parse(metadata["record"]);
  record.erase("asked");
  metadata["record"] = record.dump();
  write_safetensors(old, metadata, file.tensors());
  EXPECT_FALSE(run_json({"info", old}).contains("made_by"));
}

}  // namespace parsnets::test
