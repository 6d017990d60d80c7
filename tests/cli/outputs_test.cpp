// What a command will write is checked before its work, so that the work is not lost.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST(CliOutputs, AnImpossibleOutputIsRefusedBeforeAnythingIsRead) {
  TempDir dir;
  write_text_file(dir / "file", "kept");
  std::filesystem::create_directory(dir / "folder");
  // No input exists: an error about the output shows that it was looked at first.
  const std::string none = (dir / "none").string();
  const Words train{"train", "--data", none};
  const std::vector<std::pair<Words, bool>> commands{
      {train + Words{"--out"}, true},
      {train + Words{"--run"}, false},
      {train + Words{"--out", none, "--checkpoint"}, false},
      {{"eval", "--data", none, "--model", none, "--out"}, true},
      {{"bench", "--data", none, "--out"}, true},
      {{"export", "--model", none, "--out"}, true},
      {{"export", "--model", none, "--c-header"}, true},
      {{"report", "--run", none, "--out"}, true},
      {{"classes", "add", "--model", none, "--attributes", none, "--out"}, true},
      {{"classes", "remove", "--model", none, "--classes", "a", "--out"}, true},
      {{"data", "split", none, "--force", "--out"}, true},
      {{"data", "convert", none}, false},
      {{"extract", "--images", none, "--backbone", none, "--out"}, false},
      {{"data", "synth", "--data", none}, false}};
  for (const auto& [command, is_file] : commands) {
    std::vector<std::string> impossible{(dir / "file" / "below").string(), "/proc/x", "/proc/x/y"};
    if (is_file) impossible.push_back((dir / "folder").string());
    for (const auto& path : impossible) {
      const auto result = run_cli(command + Words{path});
      EXPECT_EQ(result.exit_code, 3) << ::testing::PrintToString(command) << path << result.err;
      EXPECT_NE(result.err.find(path), std::string::npos) << result.err;
      EXPECT_EQ(result.err.find(none), std::string::npos) << result.err;
    }
  }
  EXPECT_EQ(read_text_file(dir / "file"), "kept");
  EXPECT_TRUE(std::filesystem::is_empty(dir / "folder"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 2) << "nothing else is left";
}

TEST(CliOutputs, AnOutputThatCouldBeWrittenIsNotTouchedWhenTheInputIsBad) {
  TempDir dir;
  const std::string none = (dir / "none").string(), out = (dir / "new" / "deep" / "out").string();
  for (const Words& command : std::vector<Words>{{"train", "--data", none, "--out", out},
                                                 {"train", "--data", none, "--run", out},
                                                 {"export", "--model", none, "--out", out},
                                                 {"report", "--run", none, "--out", out},
                                                 {"data", "convert", none, out}}) {
    const auto result = run_cli(command);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_NE(result.err.find(none), std::string::npos) << result.err;
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(CliOutputs, TrainWritesToFoldersThatAreMissing) {
  TempDir dir;
  const std::string out = (dir / "new" / "deep" / "m.safetensors").string();
  const auto result = run_cli({"train", "--data", kDemo, "--out", out, "--method", "ridge", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::is_regular_file(out));
}

TEST(CliOutputs, TrainRefusesOutBesideRun) {
  TempDir dir;
  const auto result = run_cli({"train", "--data", kDemo, "--out", (dir / "m").string(), "--run", (dir / "r").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--run conflicts with --out"), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace parsnets::test
