#pragma once
// An ONNX network without weights, written byte by byte: colours averaged over squares of the photograph.

#include <filesystem>
#include <initializer_list>
#include <string>

#include "base/file.hpp"

namespace parsnets::test {

/// Fields of a protocol buffer.
class ProtoMessage {
 public:
  ProtoMessage& number(unsigned field, std::size_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  ProtoMessage& text(unsigned field, const std::string& value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(unsigned field, const ProtoMessage& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::size_t value) {
    for (; value > 127; value >>= 7) bytes_ += static_cast<char>(value % 128 + 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

/// Takes photographs of side x side and gives 3·(side/square)² features, with the card that it needs.
inline void write_pooling_network(const std::filesystem::path& file, std::size_t side, std::size_t square) {
  const auto value = [](const std::string& name, std::initializer_list<std::size_t> sizes) {
    ProtoMessage shape;
    for (const std::size_t size : sizes) shape.message(1, ProtoMessage().number(1, size));
    const ProtoMessage tensor = ProtoMessage().number(1, 1).message(2, shape);  // 1: float32
    return ProtoMessage().text(1, name).message(2, ProtoMessage().message(1, tensor));
  };
  const auto pair = [&](const std::string& name) {
    return ProtoMessage().text(1, name).number(8, square).number(8, square).number(20, 7);  // 7: a list of integers
  };
  const ProtoMessage pool = ProtoMessage()
                                .text(1, "image")
                                .text(2, "squares")
                                .text(4, "AveragePool")
                                .message(5, pair("kernel_shape"))
                                .message(5, pair("strides"));
  const ProtoMessage flatten = ProtoMessage().text(1, "squares").text(2, "features").text(4, "Flatten");
  const std::size_t features = 3 * (side / square) * (side / square);
  const ProtoMessage graph = ProtoMessage()
                                 .message(1, pool)
                                 .message(1, flatten)
                                 .text(2, "pooling")
                                 .message(11, value("image", {1, 3, side, side}))
                                 .message(12, value("features", {1, features}));
  write_text_file(file, ProtoMessage().number(1, 8).message(7, graph).message(8, ProtoMessage().number(2, 13)).bytes());
  auto card = file;
  write_text_file(card.replace_extension(".json"), R"({"preset": "tf", "fit": "whole", "width": )" +
                                                       std::to_string(side) + R"(, "height": )" + std::to_string(side) +
                                                       "}\n");
}

}  // namespace parsnets::test
