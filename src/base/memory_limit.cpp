#include "base/memory_limit.hpp"

#include <fmt/format.h>

#include "base/machine.hpp"
#include "base/options.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

void require_memory(std::uint64_t limit, double bytes, const std::string& work, const std::string& advice) {
  if (limit == 0) return;
  const double needed = static_cast<double>(resident_memory()) + bytes;
  if (needed > static_cast<double>(limit))
    throw Error(ErrorCode::usage,
                fmt::format("{}: expected at least {} for {}, found {}; {}", option_name("memory-limit"),
                            format_bytes(needed), work, format_bytes(static_cast<double>(limit)), advice));
}

}  // namespace parsnets
