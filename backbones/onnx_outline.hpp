#pragma once
// The names and shapes in an ONNX file: what a network takes and gives. Its weights and operators are the engine's.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace parsnets {

struct OnnxOutline {
  struct Input {
    std::string name;
    std::vector<std::int64_t> shape;  ///< 0: any size
  };
  struct Operator {
    std::string kind, input;  ///< the first one
  };
  std::vector<Input> inputs;         ///< without the weights
  std::vector<std::string> outputs;  ///< of the graph
  std::vector<std::string> values;   ///< of all its operators
  std::map<std::string, Operator> made_by;
  std::string without_shape;  ///< the first output whose shape the file does not say; empty: none

  /// The last output when `layer` is empty. Returns what is wrong, or nothing.
  std::string choose(std::string& layer) const;
  /// The value with positions of which `layer` is the average; `layer` itself where no operator averages all of them.
  std::string before_average(const std::string& layer) const;
  /// Returns what is wrong unless the network takes one photograph of that size.
  std::string check_input(std::size_t width, std::size_t height) const;
};

/// Returns what is wrong, or nothing. Reads no byte outside.
std::string read_outline(std::span<const std::byte> file, OnnxOutline& outline);

/// Bytes that, put after those of a file, make `value`, 32-bit floats, an output of its graph: fields of the same
/// number are merged. OpenCV wants a shape and reads nothing from it; to ONNX Runtime an empty one would be a single
/// value.
std::string output_to_append(const std::string& value, bool with_empty_shape);

}  // namespace parsnets
