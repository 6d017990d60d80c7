#pragma once
// Bytes that must be those that somebody named by their SHA-256.

#include <cstddef>
#include <span>
#include <string>

#include "base/file.hpp"
#include "base/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

/// Nothing for an `expected` of "". Throws bad_input, naming `file`, for other bytes than these.
inline void require_sha256(std::span<const std::byte> bytes, const std::string& file, const std::string& expected) {
  if (expected.empty()) return;
  if (const std::string found = sha256_of(bytes); found != in_lower_case(expected))
    throw Error(BadInput{file, "SHA-256", in_lower_case(expected), found, "get the file again, or check the sum"});
}

}  // namespace parsnets
