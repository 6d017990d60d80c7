// The completion script: what it offers, and that bash takes it.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {

int shell_status(const std::string& line) { return exit_code_of(std::system(line.c_str())); }

}  // namespace

TEST(CliCompletion, BashTakesItsScriptWhichOffersEveryCommandAndOption) {
  TempDir dir;
  const std::string text = run_cli({"completion"}).out;
  EXPECT_EQ(run_cli({"completion", "bash"}).out, text);
  EXPECT_EQ(run_cli({"completion", "zsh"}).exit_code, 2);
  write_text_file(dir / "c", text);
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
  EXPECT_EQ(complete("parsnets docs o"), "options\n");
  EXPECT_EQ(complete("parsnets train --thr"), "--threads\n");
  const std::string options = read_text_file(std::string(PARSNETS_SOURCE_DIR) + "/docs/options.md");
  std::size_t count = 0;
  for (std::size_t at = options.find("| `--"); at != std::string::npos; at = options.find("| `--", at + 1), ++count) {
    const std::string name = options.substr(at + 5, options.find('`', at + 3) - at - 5);
    EXPECT_TRUE(has(text, "--" + name + " ")) << name;
  }
  EXPECT_GT(count, 100u);
}

}  // namespace parsnets::test
