#pragma once
// Opens networks by the module of this build, as the tool does.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "images/backbone.hpp"
#include "paths.hpp"

namespace parsnets::test {

inline void* backbones_module() {
  static void* module =
      ::dlopen((std::filesystem::path(PARSNETS_BINARY).parent_path() / "parsnets-backbones.so").c_str(), RTLD_NOW);
  return module;
}

#define PARSNETS_NEED_BACKBONES()                                                                  \
  if (::parsnets::test::backbones_module() == nullptr)                                             \
  GTEST_SKIP() << "NOT TESTED: parsnets-backbones.so is not built; install libopencv-dnn-dev and " \
                  "libopencv-imgcodecs-dev, run cmake again and build"

inline std::unique_ptr<Backbone> open_backbone(const BackboneOptions& options, std::string& problem) {
  const auto open = reinterpret_cast<OpenBackbone*>(::dlsym(backbones_module(), kOpenBackbone));
  return std::unique_ptr<Backbone>(open(options, problem));
}

/// What the module runs networks by.
inline std::vector<NetworkEngine> engines_of_module() {
  const auto names = reinterpret_cast<const char* (*)()>(::dlsym(backbones_module(), "parsnets_backbone_engines"));
  if (std::string(names()).starts_with("ONNX Runtime ")) return {NetworkEngine::opencv, NetworkEngine::onnxruntime};
  return {NetworkEngine::opencv};
}

}  // namespace parsnets::test
