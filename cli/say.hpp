#pragma once
// Messages on standard error.

#include <cstdio>
#include <string_view>

namespace parsnets::cli {

/// Writes to standard error. Where nobody reads it, as in a closed pipe or on a full disk, the work goes on.
inline void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace parsnets::cli
