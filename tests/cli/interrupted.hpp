#pragma once
// The tool, interrupted when it has come to a certain point.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

#include "cli/run_cli.hpp"

namespace parsnets::test {

/// Starts the tool and interrupts it once a file in `folder` has been written (IN_MOVED_TO) or begun (IN_CREATE).
/// Returns its exit code. `input`: its standard input; -1: that of the test.
inline int interrupted_after_a_file(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                                    std::uint32_t event = IN_MOVED_TO, int input = -1) {
  const int watch = ::inotify_init1(IN_CLOEXEC);
  EXPECT_GE(::inotify_add_watch(watch, folder.c_str(), event), 0);
  std::vector<std::string> words{PARSNETS_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (auto& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int stream : {1, 2}) ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  if (input >= 0) ::posix_spawn_file_actions_adddup2(&actions, input, 0);
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, PARSNETS_BINARY, &actions, nullptr, raw.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  pollfd events[] = {{watch, POLLIN, 0}, {ended, POLLIN, 0}};
  EXPECT_GT(::poll(events, 2, -1), 0);
  EXPECT_NE(events[0].revents, 0) << "it ended before it wrote a file";
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ended);
  ::close(watch);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace parsnets::test
