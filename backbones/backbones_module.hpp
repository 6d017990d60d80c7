#pragma once
// What the module parsnets-backbones exports. Loaded by name: the command line links neither to OpenCV nor to ONNX
// Runtime.

#include "parsnets/backbone.hpp"

namespace parsnets {

extern "C" {
Backbone* parsnets_open_backbone(const BackboneOptions& options, std::string& problem);
/// "OpenCV 4.6.0", or "ONNX Runtime 1.17.0, OpenCV 4.6.0": what runs networks, what decodes photographs.
const char* parsnets_backbone_engines();
}

}  // namespace parsnets
