#pragma once
// Real data for tests: $PARSNETS_DATA, or ../shared/data beside the project. Tests skip loudly where there is none.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "paths.hpp"

namespace parsnets::test {

constexpr const char* kNoSharedData =
    "REAL DATA NOT FOUND: set PARSNETS_DATA to a folder with CUB, AWA1-handmade, AWA2 ...";

inline std::optional<std::string> shared_data(const std::string& name) {
  const char* root = std::getenv("PARSNETS_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(root != nullptr ? root : PARSNETS_SOURCE_DIR "/../shared/data") / name;
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder.string();
}

}  // namespace parsnets::test
