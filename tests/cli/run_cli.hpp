#pragma once
// Runs the built command line tool as a user would and captures what it says.

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "paths.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

struct CliResult {
  int exit_code = -1;
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

inline std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// `prefix` goes before the program, e.g. "timeout 5" or "NO_COLOR=1".
inline CliResult run_cli(const std::vector<std::string>& arguments, const std::string& prefix = "") {
  TempDir dir;
  std::string line = prefix + " " + shell_quoted(PARSNETS_BINARY);
  for (const auto& argument : arguments) line += " " + shell_quoted(argument);
  line += " > " + (dir / "out").string() + " 2> " + (dir / "err").string();
  const int status = std::system(line.c_str());
  CliResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const auto slurp = [](const std::filesystem::path& path) {
    return std::filesystem::file_size(path) == 0 ? std::string() : read_text_file(path);
  };
  result.out = slurp(dir / "out");
  result.err = slurp(dir / "err");
  return result;
}

}  // namespace parsnets::test
