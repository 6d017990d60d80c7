#include "onnx_outline.hpp"

#include <gtest/gtest.h>

#include <random>

#include "backbones/onnx_bytes.hpp"
#include "expect.hpp"

namespace parsnets::test {

namespace {

using Names = std::vector<std::string>;

std::string read(const std::string& file, OnnxOutline& outline) {
  const std::vector<std::byte> exact(std::as_bytes(std::span(file)).begin(), std::as_bytes(std::span(file)).end());
  return read_outline(exact, outline);
}

OnnxOutline outline_of(const std::string& file) {
  OnnxOutline outline;
  EXPECT_EQ(read(file, outline), "");
  return outline;
}

std::string check_shape(const std::vector<std::uint64_t>& shape) {
  return outline_of(onnx_file({{onnx_node("Relu", {"x"}, "y")}, {}, {onnx_value("x", shape)}, {onnx_value("y", {})}}))
      .check_input(320, 240);
}

}  // namespace

TEST(OnnxOutline, NamesAndShapes) {
  const OnnxOutline outline = outline_of(
      onnx_file({{onnx_node("Conv", {"image", "w"}, "maps"), onnx_node("Relu", {"maps"}, "positive"),
                  onnx_node("Flatten", {"positive"}, "features")},
                 {onnx_weights("w", {1, 3, 1, 1}, {1, 2, 3})},
                 {onnx_value("image", {0, 3, 240, 320}), onnx_value("w", {1, 3, 1, 1})},  // weights as older files do
                 {onnx_value("maps", {0, 1, 240, 320}), onnx_value("features", {0, 0})}}));
  ASSERT_EQ(outline.inputs.size(), 1u);
  EXPECT_EQ(outline.inputs[0].name, "image");
  EXPECT_EQ(outline.inputs[0].shape, (std::vector<std::int64_t>{0, 3, 240, 320}));
  EXPECT_EQ(outline.outputs, (Names{"maps", "features"}));
  EXPECT_EQ(outline.values, (Names{"maps", "positive", "features"}));
  std::string layer;
  EXPECT_EQ(outline.choose(layer), "");
  EXPECT_EQ(layer, "features") << "the last output";
  layer = "positive";
  EXPECT_EQ(outline.choose(layer), "");
  layer = "negative";
  EXPECT_EQ(with_options(outline.choose(layer), flag_option),
            "expected a layer of the network, found 'negative'; the layer in the preprocessing file NAME.json is one "
            "of its outputs: maps, features; or of its "
            "last layers: maps, positive, features");
}

TEST(OnnxOutline, WhatAPhotographMustFit) {
  EXPECT_EQ(check_shape({0, 3, 240, 320}), "");
  EXPECT_EQ(check_shape({1, 3, 0, 0}), "");
  EXPECT_EQ(check_shape({}), "") << "of unknown shape";
  EXPECT_MENTIONS(check_shape({0, 3, 320, 240}), "takes any x 3 x 320 x 240");
  for (const auto& shape :
       std::vector<std::vector<std::uint64_t>>{{0, 240, 320, 3}, {8, 3, 240, 320}, {0, 1, 240, 320}, {3, 240, 320}})
    EXPECT_MENTIONS(check_shape(shape), "found an input of 1 x 3 x 240 x 320");
  const std::string none = onnx_file({{onnx_node("Relu", {"x"}, "y")}, {}, {}, {onnx_value("y", {})}});
  EXPECT_MENTIONS(outline_of(none).check_input(4, 4), "one input, found 0");
}

TEST(OnnxOutline, AnAppendedOutputJoinsTheGraph) {
  const std::string long_name(300, 'x');
  const std::string file = onnx_file({{onnx_node("Relu", {"image"}, long_name), onnx_node("Relu", {long_name}, "y")},
                                      {},
                                      {onnx_value("image", {0, 3, 2, 2})},
                                      {onnx_value("y", {})}});
  for (const bool shape : {false, true})
    EXPECT_EQ(outline_of(file + output_to_append(long_name, shape)).outputs, (Names{"y", long_name}));
}

TEST(OnnxOutline, AnOutputWithoutAShape) {
  EXPECT_EQ(outline_of(onnx_of_pixels(4, 4)).without_shape, "");
  const std::string shapeless = onnx_part(1, "pixels") + onnx_part(2, onnx_part(1, onnx_number(1, 1)));
  EXPECT_EQ(outline_of(onnx_file({{onnx_node("Flatten", {"x"}, "pixels")},
                                  {},
                                  {onnx_value("x", {0, 3, 4, 4})},
                                  {onnx_value("x", {}), shapeless}}))
                .without_shape,
            "pixels");
}

TEST(OnnxOutline, OtherFilesAreNotTakenForDamagedOnes) {
  OnnxOutline outline;
  EXPECT_EQ(read("# A page\n\nwith text", outline), "expected an ONNX network, found another kind of file");
  EXPECT_EQ(read(onnx_of_pixels().substr(0, 30), outline), "expected an ONNX network, found a damaged one");
  EXPECT_EQ(read("", outline), "expected an ONNX network, found an empty file");
}

TEST(OnnxOutline, DamagedFilesAreRefusedOrRead) {
  const std::string file = onnx_of_pixels(4, 4);
  std::size_t refused = 0;
  OnnxOutline outline;
  for (std::size_t length = 0; length < file.size(); ++length) refused += read(file.substr(0, length), outline) != "";
  EXPECT_GT(refused, file.size() - 20);
  std::mt19937 draw(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = file;
    for (unsigned flips = 1 + draw() % 4; flips > 0; --flips) damaged[draw() % file.size()] = static_cast<char>(draw());
    read(damaged, outline);
  }
}

}  // namespace parsnets::test
