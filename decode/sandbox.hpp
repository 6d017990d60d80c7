#pragma once
// Takes from a process what reading does not need.

#include <cstdint>
#include <string>

namespace parsnets {

/// From here on this process, with all its threads, can use the descriptors that it has and memory, and nothing else:
/// it opens no file or connection and starts no process; what it tries ends it, or fails. `memory` in bytes, `seconds`
/// of processor time. Returns what keeps it there: "seccomp", or "limits" where the kernel or this build has no filter;
/// builds with sanitizers, which need files and terabytes of addresses, limit the time alone: "time".
std::string enter_sandbox(std::uint64_t memory, unsigned seconds);

}  // namespace parsnets
