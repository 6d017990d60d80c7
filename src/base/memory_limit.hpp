#pragma once
// --memory-limit: what does not fit is refused before the work.

#include <cstdint>
#include <string>

namespace parsnets {

/// Throws usage, saying how much is needed for `work` and what to do, when `bytes` more than the process has now would
/// be above `limit`; 0 means no limit.
void require_memory(std::uint64_t limit, double bytes, const std::string& work, const std::string& advice);

}  // namespace parsnets
