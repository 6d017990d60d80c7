#pragma once
// What the module parsnets-backbones exports. Loaded by name: the command line links neither to OpenCV nor to ONNX
// Runtime.

#include "images/backbone.hpp"

namespace parsnets {

extern "C" {
Backbone* parsnets_open_backbone(const BackboneOptions& options, std::string& problem);
/// What runs networks, the first by default: "OpenCV 4.6.0", or "ONNX Runtime 1.20.1,OpenCV 4.6.0". OpenCV decodes.
const char* parsnets_backbone_engines();
}

}  // namespace parsnets
