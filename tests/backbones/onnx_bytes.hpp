#pragma once
// Small networks as ONNX files, written field by field.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace parsnets::test {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  return bytes + static_cast<char>(value);
}
inline std::string onnx_number(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
inline std::string onnx_part(unsigned field, const std::string& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}

/// 0: any size.
inline std::string onnx_value(const std::string& name, const std::vector<std::uint64_t>& shape) {
  std::string dimensions;
  for (const auto size : shape) dimensions += onnx_part(1, size == 0 ? onnx_part(2, "any") : onnx_number(1, size));
  return onnx_part(1, name) + onnx_part(2, onnx_part(1, onnx_number(1, 1) + onnx_part(2, dimensions)));
}

inline std::string onnx_node(const std::string& operation, const std::vector<std::string>& inputs,
                             const std::string& output, const std::string& attributes = "") {
  std::string node;
  for (const auto& input : inputs) node += onnx_part(1, input);
  return node + onnx_part(2, output) + onnx_part(4, operation) + attributes;
}
inline std::string onnx_integers(const std::string& name, const std::vector<std::uint64_t>& values) {
  std::string attribute = onnx_part(1, name);
  for (const auto value : values) attribute += onnx_number(8, value);
  return onnx_part(5, attribute + onnx_number(20, 7));
}

inline std::string onnx_weights(const std::string& name, const std::vector<std::uint64_t>& shape,
                                const std::vector<float>& values) {
  std::string tensor;
  for (const auto size : shape) tensor += onnx_number(1, size);
  return tensor + onnx_number(2, 1) + onnx_part(8, name) +
         onnx_part(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

struct OnnxParts {
  std::vector<std::string> nodes, weights, inputs, outputs;
};

inline std::string onnx_file(const OnnxParts& parts) {
  std::string graph;
  for (const auto& node : parts.nodes) graph += onnx_part(1, node);
  graph += onnx_part(2, "graph");
  for (const auto& weights : parts.weights) graph += onnx_part(5, weights);
  for (const auto& input : parts.inputs) graph += onnx_part(11, input);
  for (const auto& output : parts.outputs) graph += onnx_part(12, output);
  return onnx_number(1, 5) + onnx_part(7, graph) + onnx_part(8, onnx_number(2, 10));
}

/// The features are the pixels of the input; its layer `positive` has the positive part of them, channel by channel.
inline std::string onnx_of_pixels(std::uint64_t width = 0, std::uint64_t height = 0) {
  return onnx_file({{onnx_node("Relu", {"image"}, "positive"), onnx_node("Flatten", {"image"}, "pixels")},
                    {},
                    {onnx_value("image", {0, 3, height, width})},
                    {onnx_value("pixels", {0, 0})}});
}

/// Two convolutions with weights drawn at random, then the mean over positions and a product.
inline std::string onnx_with_convolutions(std::uint64_t side) {
  std::mt19937 draw(3);
  std::normal_distribution<float> normal;
  const auto values = [&](std::size_t count) {
    std::vector<float> drawn(count);
    for (float& value : drawn) value = normal(draw) / 5;
    return drawn;
  };
  return onnx_file(
      {{onnx_node("Conv", {"image", "w1"}, "a", onnx_integers("kernel_shape", {3, 3})), onnx_node("Relu", {"a"}, "b"),
        onnx_node("Conv", {"b", "w2"}, "c", onnx_integers("kernel_shape", {5, 5})),
        onnx_node("GlobalAveragePool", {"c"}, "d"), onnx_node("Flatten", {"d"}, "e"),
        onnx_node("MatMul", {"e", "w3"}, "features")},
       {onnx_weights("w1", {24, 3, 3, 3}, values(24 * 27)), onnx_weights("w2", {40, 24, 5, 5}, values(40 * 24 * 25)),
        onnx_weights("w3", {40, 33}, values(40 * 33))},
       {onnx_value("image", {0, 3, side, side})},
       {onnx_value("features", {0, 33})}});
}

}  // namespace parsnets::test
