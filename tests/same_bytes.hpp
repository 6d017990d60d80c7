#pragma once
// Comparison of byte strings and files that says where they differ and never shows what is in them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace parsnets::test {

inline testing::AssertionResult same_bytes(std::string_view a, std::string_view b) {
  if (a == b) return testing::AssertionSuccess();
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  return testing::AssertionFailure() << a.size() << " and " << b.size() << " bytes, different from offset " << at
                                     << " on";
}

inline testing::AssertionResult same_file_bytes(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::string bytes[2];
  for (const auto* path : {&a, &b}) {
    std::ifstream in(*path, std::ios::binary);
    if (!in) return testing::AssertionFailure() << *path << " cannot be read";
    bytes[path == &b].assign(std::istreambuf_iterator<char>(in), {});
  }
  return same_bytes(bytes[0], bytes[1]) << " in " << a << " and " << b;
}

}  // namespace parsnets::test
