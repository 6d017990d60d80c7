#pragma once
// Information about the machine and the libraries this build runs with.

#include <cstdint>
#include <string>
#include <vector>

namespace parsnets {

struct LibraryFact {
  std::string name, version;
};

struct MachineInfo {
  std::string cpu, simd;               ///< model name; widest instruction set the processor has
  unsigned cores = 0;                  ///< that this process may use
  std::uint64_t memory = 0, free = 0;  ///< bytes, within the control group's limit
  std::vector<LibraryFact> libraries;
};

MachineInfo machine_info();

/// Peak resident memory of this process so far, in bytes.
std::uint64_t peak_memory();
/// Resident memory of this process now, in bytes.
std::uint64_t resident_memory();

// --memory-limit: what does not fit is refused before the work.

/// Resident memory that the process cannot give back, in bytes: its own, and an allowance for program and libraries.
/// Pages of mapped files do not count.
std::uint64_t held_memory();

/// Throws usage: `needed` bytes in all for `work`, which is more than `limit`; `advice` says what to do.
[[noreturn]] void refuse_memory(std::uint64_t limit, double needed, const std::string& work, const std::string& advice);

/// Throws usage, saying how much is needed for `work` and what to do, when `bytes` more than held_memory() would be
/// above `limit`; 0 means no limit.
void require_memory(std::uint64_t limit, double bytes, const std::string& work, const std::string& advice);

/// Has the allocator return freed memory to the system from here on, so that what was freed does not count against a
/// limit. Costs time where matrices are made again and again.
void return_freed_memory();

}  // namespace parsnets
