// What a command will write is checked before its work, so that the work is not lost.

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli/run_cli.hpp"

namespace parsnets::test {

using CliOutputs = FolderTest;

TEST_F(CliOutputs, AnImpossibleOutputIsRefusedBeforeAnythingIsRead) {
  write_text_file(dir / "file", "kept");
  fs::create_directory(dir / "folder");
  // No input exists: an error about the output shows that it was looked at first.
  const std::string none = dir.file("none");
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
    Words impossible{dir.file("file/below"), "/proc/x", "/proc/x/y"};
    if (is_file) impossible.push_back(dir.file("folder"));
    for (const auto& path : impossible) EXPECT_FALSE(has(run_error(command + Words{path}, 3, path).err, none));
  }
  EXPECT_EQ(read_text_file(dir / "file"), "kept");
  EXPECT_TRUE(fs::is_empty(dir / "folder"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 2) << "nothing else is left";
}

TEST_F(CliOutputs, AnOutputThatCouldBeWrittenIsNotTouchedWhenTheInputIsBad) {
  const std::string none = dir.file("none"), out = (dir / "new" / "deep" / "out").string();
  for (const Words& command : std::vector<Words>{{"train", "--data", none, "--out", out},
                                                 {"train", "--data", none, "--run", out},
                                                 {"export", "--model", none, "--out", out},
                                                 {"report", "--run", none, "--out", out},
                                                 {"data", "convert", none, out}})
    run_error(command, 3, none);
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST_F(CliOutputs, TrainWritesToFoldersThatAreMissing) {
  const std::string out = train_demo((dir / "new" / "deep" / "m.safetensors").string(), {"--method", "ridge"});
  EXPECT_TRUE(fs::is_regular_file(out));
}

TEST_F(CliOutputs, TrainRefusesOutBesideRun) {
  run_error({"train", "--data", kDemo, "--out", dir.file("m"), "--run", dir.file("r")}, 2,
            "--run conflicts with --out");
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

/// What a terminal would act on, but for line ends and tabs.
bool acts_on_terminals(const std::string& text) { return escaped_lines(text) != text; }

TEST_F(CliOutputs, NamesOfOthersDoNotReachTheTerminalAsTheyAre) {
  const std::string folder = dir.file(
      "de\x1b[31mmo\xc2\x9b"
      "31m");
  fs::copy(kDemo, folder);
  const std::string model = dir.file("m\x1b[2J.safetensors");
  for (const auto& words : std::vector<Words>{{"data", "inspect", folder},
                                              {"train", "--data", folder, "--out", model, "--method", "ridge"},
                                              {"info", model}}) {
    for (const auto& more : {Words{}, Words{"--json"}}) {
      const CliResult said = run_ok(words + more);
      EXPECT_FALSE(acts_on_terminals(said.out)) << said.out;
      EXPECT_FALSE(acts_on_terminals(said.err)) << said.err;
    }
  }
  EXPECT_TRUE(has(run_ok({"info", model}).out, "de\\x1b[31mmo\\xc2\\x9b31m"));
  EXPECT_EQ(run_json({"info", model})["file"], model) << "JSON keeps the name";
}

}  // namespace parsnets::test
