#pragma once
// A data set for tests of files, and how they load one.

#include <filesystem>
#include <string>

#include "data/synth.hpp"
#include "expect.hpp"

namespace parsnets::test {

/// 8 classes, each with samples, and 4 features.
inline Dataset tiny_dataset() { return synthesize({.classes = 8, .samples = 80, .dimensions = 4, .hidden = 4}); }

/// The LoadOptions that tests change.
struct Asked {
  std::string features = {}, semantics = {};
  std::filesystem::path split = {};
  bool require_features = true, read_features = true;
};

inline Dataset load(const std::filesystem::path& folder, const Asked& asked = {}) {
  LoadOptions options;
  options.features = asked.features;
  options.semantics = asked.semantics;
  options.split = asked.split;
  options.require_features = asked.require_features;
  options.read_features = asked.read_features;
  return load_dataset(folder, options);
}

/// The message of the bad input that loading finds.
inline std::string refusal(const std::filesystem::path& folder, const Asked& asked = {}) {
  return error_of([&] { load(folder, asked); }).message();
}

}  // namespace parsnets::test
