#pragma once
// An ONNX network without weights: colours averaged over squares of the photograph.

#include <filesystem>
#include <string>

#include "backbones/onnx_bytes.hpp"
#include "base/file.hpp"

namespace parsnets::test {

/// Takes photographs of side x side and gives 3·(side/square)² features, with the card that it needs.
inline void write_pooling_network(const std::filesystem::path& file, std::size_t side, std::size_t square) {
  const std::size_t features = 3 * (side / square) * (side / square);
  const std::string squares =
      onnx_integers("kernel_shape", {square, square}) + onnx_integers("strides", {square, square});
  write_text_file(file, onnx_file({{onnx_node("AveragePool", {"image"}, "squares", squares),
                                    onnx_node("Flatten", {"squares"}, "features")},
                                   {},
                                   {onnx_value("image", {1, 3, side, side})},
                                   {onnx_value("features", {1, features})}}));
  auto card = file;
  write_text_file(card.replace_extension(".json"), R"({"preset": "tf", "fit": "whole", "width": )" +
                                                       std::to_string(side) + R"(, "height": )" + std::to_string(side) +
                                                       "}\n");
}

}  // namespace parsnets::test
