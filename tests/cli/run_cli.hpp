#pragma once
// Runs the built command line tool as a user would and captures what it says.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "paths.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace fs = std::filesystem;

constexpr auto kRecursive = fs::copy_options::recursive;

/// Of a command line.
using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Those of a line without quotes.
inline Words words_in(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

inline const std::string kDemo = std::string(PARSNETS_SOURCE_DIR) + "/data/demo";

struct CliResult {
  int exit_code = -1;
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Whether a part is in a text, which an expectation that fails shows.
inline testing::AssertionResult has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  return testing::AssertionResult(found) << "'" << part << (found ? "' is in: " : "' is not in: ") << text;
}

inline int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

inline std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// `prefix` goes before the program, e.g. "NO_COLOR=1" or "ulimit -v 2000000;".
inline CliResult run_cli(const Words& arguments, const std::string& prefix = "") {
  TempDir dir;
  std::string line = prefix + " " + shell_quoted(PARSNETS_BINARY);
  for (const auto& argument : arguments) line += " " + shell_quoted(argument);
  line += " > " + shell_quoted(dir / "out") + " 2> " + shell_quoted(dir / "err");
  const int status = std::system(line.c_str());
  const auto slurp = [&](const char* name) {
    return fs::file_size(dir / name) == 0 ? std::string() : read_text_file(dir / name);
  };
  return {exit_code_of(status), slurp("out"), slurp("err")};
}

/// The tool must have succeeded.
inline CliResult expect_ok(CliResult result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result;
}

/// The tool must have ended with this code and said this on standard error.
inline CliResult expect_error(CliResult result, int code, const std::string& part = "") {
  EXPECT_EQ(result.exit_code, code) << result.err;
  EXPECT_TRUE(has(result.err, part));
  return result;
}

// Runs of the tool that must succeed; with --json, what it says; and that must fail.

inline CliResult run_ok(const Words& arguments, const std::string& prefix = "") {
  SCOPED_TRACE(testing::PrintToString(arguments));
  return expect_ok(run_cli(arguments, prefix));
}

inline nlohmann::json run_json(const Words& arguments, const std::string& prefix = "") {
  return run_ok(arguments + Words{"--json"}, prefix).json();
}

inline CliResult run_error(const Words& arguments, int code, const std::string& part = "",
                           const std::string& prefix = "") {
  SCOPED_TRACE(testing::PrintToString(arguments));
  return expect_error(run_cli(arguments, prefix), code, part);
}

/// Writes a model that is trained on the demo set; returns its file.
inline std::string train_demo(const std::string& out, const Words& options = {}) {
  run_ok(Words{"train", "--data", kDemo, "--out", out, "--quiet"} + options);
  return out;
}

/// A model of the demo set, trained once for the tests of a process, which leave it as it is.
inline const std::string& model_of_demo(const Words& options = {}) {
  static const TempDir dir;
  static std::map<Words, std::string> models;
  const auto [model, is_new] = models.try_emplace(options, dir.file(std::to_string(models.size()) + ".safetensors"));
  if (is_new) train_demo(model->second, options);
  return model->second;
}

inline const Words kRidge{"--method", "ridge"};

/// A test with a folder of its own.
class FolderTest : public testing::Test {
 protected:
  const TempDir dir;
};

/// Whether all these parts are in a text.
inline testing::AssertionResult has_all(const std::string& text, const Words& parts) {
  for (const auto& part : parts)
    if (const auto found = has(text, part); !found) return found;
  return testing::AssertionSuccess();
}

/// Whether an object has these members, and its own objects those of theirs.
inline testing::AssertionResult has_members(const nlohmann::json& found, const nlohmann::json& members) {
  auto both = found;
  both.merge_patch(members);
  return testing::AssertionResult(both == found) << members << " is not in: " << found;
}

inline nlohmann::json json_in(const fs::path& file) { return nlohmann::json::parse(read_text_file(file)); }

/// The tool while it works, for tests that wait for what it says.
class CliProcess {
 public:
  /// `stream`: whose lines are read, standard error or standard output. Standard output is dropped unless it is read.
  /// `input`: its standard input; -1: that of the test.
  explicit CliProcess(Words arguments, int stream = STDERR_FILENO, int input = -1) : stream_(stream) {
    std::string program = PARSNETS_BINARY;
    std::vector<char*> line{program.data()};
    for (auto& argument : arguments) line.push_back(argument.data());
    line.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], stream_);
    if (input >= 0) ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    const int failed = ::posix_spawn(&id_, program.c_str(), &actions, nullptr, line.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    messages_ = ::fdopen(ends[0], "r");
    if (failed != 0) throw std::runtime_error(program + " does not start");
  }
  ~CliProcess() {
    if (!ended_) {
      send(SIGKILL);
      finish();
    }
    std::fclose(messages_);
  }
  CliProcess(const CliProcess&) = delete;
  CliProcess& operator=(const CliProcess&) = delete;

  /// Waits for a line with this beginning; false if the tool ends without one.
  bool wait_for_line(std::string_view beginning) {
    while (read_line())
      if (std::string_view(line_).starts_with(beginning)) return true;
    return false;
  }
  /// The line that was read last, with its end.
  const std::string& line() const { return line_; }
  pid_t id() const { return id_; }
  void send(int signal_number) { ::kill(id_, signal_number); }
  bool lives() const {
    siginfo_t state{};
    return ::waitid(P_PID, static_cast<id_t>(id_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == 0;
  }
  /// Waits for its end.
  CliResult finish() {
    while (read_line()) {
    }
    int status = 0;
    ::waitpid(id_, &status, 0);
    ended_ = true;
    const bool out = stream_ == STDOUT_FILENO;
    return {exit_code_of(status), out ? said_ : "", out ? "" : said_};
  }

 private:
  bool read_line() {
    line_.clear();
    for (int c; (c = std::fgetc(messages_)) != EOF;) {
      line_ += static_cast<char>(c);
      if (c == '\n') break;
    }
    said_ += line_;
    return !line_.empty();
  }

  const int stream_;
  pid_t id_ = -1;
  bool ended_ = false;
  std::FILE* messages_ = nullptr;
  std::string line_, said_;
};

}  // namespace parsnets::test
