// Completion scripts: what they offer, and that their shells take them.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {

bool installed(const std::string& shell) { return std::system(("command -v " + shell + " > /dev/null").c_str()) == 0; }

int shell_status(const std::string& line) { return exit_code_of(std::system(line.c_str())); }

}  // namespace

TEST(CliCompletion, EveryShellGetsEveryCommandAndOptionWithItsDescription) {
  const std::string zsh = run_cli({"completion", "zsh"}).out, fish = run_cli({"completion", "fish"}).out;
  EXPECT_TRUE(zsh.starts_with("#compdef parsnets\n"));
  EXPECT_TRUE(has(zsh, "'predict:predict the classes of new samples, with confidences'"));
  EXPECT_TRUE(has(zsh, "'inspect:"));
  EXPECT_TRUE(has(zsh, "'--among[candidate classes]:among:(all seen unseen)'"));
  EXPECT_TRUE(has(zsh, "'--grid[grid to search instead of the method'\\''s own"));
  EXPECT_TRUE(has(zsh, "'1::SHELL:(bash zsh fish)'"));
  EXPECT_TRUE(has(fish, "'__parsnets_after \\'data\\'' -a inspect -d '"));
  EXPECT_TRUE(has(fish, "'__parsnets_after \\'predict\\'' -l among -d 'candidate classes' -x -a 'all seen unseen'\n"));
  EXPECT_TRUE(has(fish, "'__parsnets_after \\'predict\\'' -l model -d 'model file or device file' -r -F\n"));
  const std::string options = read_text_file(std::string(PARSNETS_SOURCE_DIR) + "/docs/options.md");
  std::size_t count = 0;
  for (std::size_t at = options.find("| `--"); at != std::string::npos; at = options.find("| `--", at + 1), ++count) {
    const std::string name = options.substr(at + 5, options.find('`', at + 3) - at - 5);
    EXPECT_TRUE(has(zsh, "'--" + name + "[")) << name;
    EXPECT_TRUE(has(fish, " -l " + name + " -d ")) << name;
  }
  EXPECT_GT(count, 100u);
}

TEST(CliCompletion, BashTakesItsScriptAndOffersCommandsOptionsAndChoices) {
  TempDir dir;
  write_text_file(dir / "c", run_cli({"completion", "bash"}).out);
  EXPECT_EQ(shell_status("bash -n " + shell_quoted(dir / "c")), 0);
  const auto complete = [&](const std::string& words) {
    const std::string script = ". " + shell_quoted(dir / "c") + "; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _parsnets; echo ${COMPREPLY[@]}";
    EXPECT_EQ(shell_status("bash -c " + shell_quoted(script) + " > " + shell_quoted(dir / "o")), 0);
    return read_text_file(dir / "o");
  };
  EXPECT_EQ(complete("parsnets doc"), "doctor docs\n");
  EXPECT_EQ(complete("parsnets data ins"), "inspect\n");
  EXPECT_EQ(complete("parsnets data inspect --orig"), "--original-att\n");
  EXPECT_EQ(complete("parsnets data convert --format cs"), "csv\n");
  EXPECT_EQ(complete("parsnets completion z"), "zsh\n");
  EXPECT_EQ(complete("parsnets train --thr"), "--threads\n");
}

TEST(CliCompletion, ZshTakesItsScript) {
  if (!installed("zsh")) GTEST_SKIP() << "ZSH NOT FOUND: ITS COMPLETION SCRIPT IS NOT CHECKED";
  TempDir dir;
  write_text_file(dir / "_parsnets", run_cli({"completion", "zsh"}).out);
  EXPECT_EQ(shell_status("zsh -n " + shell_quoted(dir / "_parsnets")), 0);
  // _arguments and _describe are called as in a completion; stand-ins print what they are given.
  write_text_file(dir / "t",
                  "_arguments() { print -rl -- \"$@\" }\n_describe() { print -rl -- ${(P)4} }\n"
                  "compdef() { : }\n. " +
                      shell_quoted(dir / "_parsnets") +
                      "\nwords=(parsnets data convert --f) CURRENT=4\n_parsnets\n"
                      "words=(parsnets classes t) CURRENT=3\n_parsnets\n");
  ASSERT_EQ(shell_status("zsh -f " + shell_quoted(dir / "t") + " > " + shell_quoted(dir / "o")), 0);
  const std::string said = read_text_file(dir / "o");
  EXPECT_TRUE(has(said, "\n--format["));
  EXPECT_TRUE(has(said, "\nteach:"));
  EXPECT_FALSE(has(said, "--semantic-weights")) << "an option of train";
}

TEST(CliCompletion, FishTakesItsScript) {
  if (!installed("fish")) GTEST_SKIP() << "FISH NOT FOUND: ITS COMPLETION SCRIPT IS NOT CHECKED";
  TempDir dir;
  write_text_file(dir / "p.fish", run_cli({"completion", "fish"}).out);
  const auto complete = [&](const std::string& line) {
    const std::string command =
        "HOME=" + shell_quoted(dir / "") + " fish --no-config -c " +
        shell_quoted("source " + shell_quoted(dir / "p.fish") + "; complete -C " + shell_quoted(line)) + " > " +
        shell_quoted(dir / "o");
    EXPECT_EQ(shell_status(command), 0);
    return fs::file_size(dir / "o") == 0 ? std::string() : read_text_file(dir / "o");
  };
  EXPECT_EQ(shell_status("fish --no-execute " + shell_quoted(dir / "p.fish")), 0);
  EXPECT_EQ(complete("parsnets docto").substr(0, 7), "doctor\t");
  EXPECT_EQ(complete("parsnets data ins").substr(0, 8), "inspect\t");
  EXPECT_EQ(complete("parsnets data inspect --orig").substr(0, 15), "--original-att\t");
  EXPECT_EQ(complete("parsnets data convert --format cs").substr(0, 4), "csv\t");
  EXPECT_EQ(complete("parsnets predict --amo").substr(0, 8), "--among\t");
  EXPECT_EQ(complete("parsnets completion z"), "zsh\n");
}

}  // namespace parsnets::test
