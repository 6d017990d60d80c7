#include "base/memory_limit.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include "base/machine.hpp"
#include "base/options.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

std::uint64_t held_memory() {
  constexpr std::uint64_t kProgram = 24u << 20;  // 17 MB are resident in a training on CUB
  const std::uint64_t own = anonymous_memory();
  return own > 0 ? own + kProgram : resident_memory();
}

void refuse_memory(std::uint64_t limit, double needed, const std::string& work, const std::string& advice) {
  throw Error(ErrorCode::usage,
              fmt::format("{}: expected at least {} for {}, found {}; {}", option_name("memory-limit"),
                          format_bytes(needed), work, format_bytes(static_cast<double>(limit)), advice));
}

void require_memory(std::uint64_t limit, double bytes, const std::string& work, const std::string& advice) {
  if (limit == 0) return;
  const double needed = static_cast<double>(held_memory()) + bytes;
  if (needed > static_cast<double>(limit)) refuse_memory(limit, needed, work, advice);
}

void return_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, 2);
  malloc_trim(0);
#endif
}

}  // namespace parsnets
