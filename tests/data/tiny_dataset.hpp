#pragma once
// A data set for tests of files, and what loading one says.

#include <filesystem>
#include <string>

#include "data/synth.hpp"
#include "expect.hpp"

namespace parsnets::test {

/// 8 classes, each with samples, and 4 features.
inline Dataset tiny_dataset() { return synthesize({.classes = 8, .samples = 80, .dimensions = 4, .hidden = 4}); }

/// The message of the bad input that loading finds.
inline std::string refusal(const std::filesystem::path& folder, const LoadOptions& options = {}) {
  return error_of([&] { load_dataset(folder, options); }).message();
}

}  // namespace parsnets::test
