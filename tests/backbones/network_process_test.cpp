// ONNX files that are made to do harm: what runs them is ended, and nothing else.

#include <algorithm>
#include <random>

#include "backbones/backbones_module.hpp"
#include "backbones/onnx_bytes.hpp"
#include "base/decoder.hpp"
#include "base/file.hpp"
#include "expect.hpp"

namespace parsnets::test {

namespace {

const ImageInput kHostileInput{PixelPreset::tf, ImageFit::whole, 16, 16};

class HostileNetwork : public testing::Test, protected NetworkFile {
 protected:
  void SetUp() override { PARSNETS_NEED_BACKBONES(); }
  std::string problem_of(const std::string& onnx) {
    EXPECT_EQ(open(onnx, kHostileInput), nullptr);
    return problem_;
  }
};

std::string of_image(const std::vector<std::string>& nodes, const std::vector<std::string>& weights = {}) {
  return onnx_file({nodes, weights, {onnx_value("image", {0, 3, 16, 16})}, {onnx_value("y", {0, 0})}});
}

}  // namespace

TEST_F(HostileNetwork, OneThatTakesGigabytesEndsItsProcessAlone) {
  if (Decoder("MAT files", "mat", -1, {64u << 20, 1}).sandbox() == "time")
    GTEST_SKIP() << "this build limits no memory";
  const auto border = onnx_integers("pads", {0, 0, 20000, 20000, 0, 0, 20000, 20000});
  const std::string large =
      of_image({onnx_node("Pad", {"image"}, "large", border), onnx_node("GlobalAveragePool", {"large"}, "y")});
  for (const NetworkEngine engine : engines_of_module()) {
    EXPECT_EQ(open(large, kHostileInput, "", 0, engine), nullptr);
    EXPECT_MENTIONS(problem_, engine == NetworkEngine::opencv ? "514 MB of memory, found one that takes more memory"
                                                              : "Failed to allocate memory");
  }
}

TEST_F(HostileNetwork, WeightsInOtherFilesAreNotRead) {
  write_text_file(dir_ / "secret", std::string(36, 'x'));
  const auto entry = onnx_part(1, "location") + onnx_part(2, "secret");
  std::string tensor;
  for (const std::uint64_t size : {3, 3, 1, 1}) tensor += onnx_number(1, size);
  tensor += onnx_number(2, 1) + onnx_part(8, "w") + onnx_part(13, entry) + onnx_number(14, 1);
  const auto nodes = {onnx_node("Conv", {"image", "w"}, "c", onnx_integers("kernel_shape", {1, 1})),
                      onnx_node("GlobalAveragePool", {"c"}, "y")};
  EXPECT_MENTIONS(
      problem_of(of_image(nodes, {tensor})),
      "expected a network with its weights, found those of 'w' in another file; save the network as one file");
}

TEST_F(HostileNetwork, DamagedOnesAreReadOrRefused) {
  std::mt19937 draw(7);
  std::size_t refused = 0;
  for (const std::string& whole : {onnx_of_pixels(16, 16), onnx_with_convolutions(16)})
    for (int round = 0; round < 8; ++round) {
      std::string damaged = whole;
      const std::size_t end = std::min<std::size_t>(damaged.size(), 400);
      for (unsigned n = 0; n <= draw() % 3; ++n) damaged[draw() % end] ^= static_cast<char>(1u << draw() % 8);
      const auto backbone = open(damaged, kHostileInput);
      if (backbone == nullptr) {
        ++refused;
        EXPECT_NE(problem_, "");
        continue;
      }
      std::vector<float> features(backbone->dimensions());
      const std::string problem = backbone->run(std::vector<float>(3 * 16 * 16, 0.5F), 1, features);
      EXPECT_TRUE(problem.empty() || problem == kNotFinite) << problem;
    }
  EXPECT_GT(refused, 0u);
}

}  // namespace parsnets::test
