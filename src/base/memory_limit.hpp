#pragma once
// --memory-limit: what does not fit is refused before the work.

#include <cstdint>
#include <string>

namespace parsnets {

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
