#pragma once
// Opens networks by the module of this build, as the tool does.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "images/backbone.hpp"
#include "paths.hpp"
#include "temp_dir.hpp"

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

/// Opens networks that it writes to a file.
class NetworkFile {
 protected:
  /// Null, with `problem_`, when it cannot be opened.
  std::unique_ptr<Backbone> open(const std::string& onnx, const ImageInput& input, const std::string& layer = "",
                                 unsigned threads = 0, std::optional<NetworkEngine> engine = {}) {
    write_text_file(dir_ / "network.onnx", onnx);
    return open_backbone({dir_ / "network.onnx", layer, input, threads, engine}, problem_);
  }

  TempDir dir_;
  std::string problem_;
};

/// What the module runs networks by.
inline std::vector<NetworkEngine> engines_of_module() {
  const auto names = reinterpret_cast<const char* (*)()>(::dlsym(backbones_module(), "parsnets_backbone_engines"));
  if (std::string(names()).starts_with("ONNX Runtime ")) return {NetworkEngine::opencv, NetworkEngine::onnxruntime};
  return {NetworkEngine::opencv};
}

}  // namespace parsnets::test
