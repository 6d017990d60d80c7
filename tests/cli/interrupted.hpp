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
inline int interrupted_after_a_file(const Words& arguments, const fs::path& folder, std::uint32_t event = IN_MOVED_TO,
                                    int input = -1) {
  const int watch = ::inotify_init1(IN_CLOEXEC);
  EXPECT_GE(::inotify_add_watch(watch, folder.c_str(), event), 0);
  CliProcess process(arguments, STDERR_FILENO, input);
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, process.id(), 0));
  pollfd events[] = {{watch, POLLIN, 0}, {ended, POLLIN, 0}};
  EXPECT_GT(::poll(events, 2, -1), 0);
  EXPECT_NE(events[0].revents, 0) << "it ended before it wrote a file";
  process.send(SIGINT);
  const int code = process.finish().exit_code;
  ::close(ended);
  ::close(watch);
  return code;
}

}  // namespace parsnets::test
