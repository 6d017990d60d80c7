// What runs networks: each engine of the module by itself, and their features beside each other.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include "backbones/backbones_module.hpp"
#include "backbones/onnx_bytes.hpp"
#include "base/file.hpp"
#include "expect.hpp"
#include "images/bmp_photos.hpp"
#include "images/features_of_image.hpp"
#include "paths.hpp"
#include "temp_dir.hpp"

namespace parsnets {

static void PrintTo(NetworkEngine engine, std::ostream* out) {
  *out << (engine == NetworkEngine::opencv ? "OpenCV" : "ONNX Runtime");
}

}  // namespace parsnets

namespace parsnets::test {

namespace {

constexpr const char* kNoOnnxRuntime =
    "NOT TESTED: this build has no ONNX Runtime; install it, run cmake with -DPARSNETS_ONNXRUNTIME=FOLDER and build";

/// Opens networks by one engine after the other.
class EngineTest : public testing::TestWithParam<NetworkEngine>, protected NetworkFile {
 protected:
  void SetUp() override {
    PARSNETS_NEED_BACKBONES();
    if (std::ranges::count(engines_of_module(), GetParam()) == 0) GTEST_SKIP() << kNoOnnxRuntime;
  }

  std::unique_ptr<Backbone> open(const std::string& onnx, const ImageInput& input, const std::string& layer = "",
                                 unsigned threads = 0) {
    return NetworkFile::open(onnx, input, layer, threads, GetParam());
  }
  std::string problem_of(const std::string& onnx, const ImageInput& input, const std::string& layer = "") {
    EXPECT_EQ(open(onnx, input, layer), nullptr);
    return problem_;
  }
};

std::string name_of(const testing::TestParamInfo<NetworkEngine>& engine) {
  return engine.param == NetworkEngine::opencv ? "OpenCv" : "OnnxRuntime";
}

/// Features of the same photographs by both engines; the largest difference as a share of the largest feature.
double difference_of_engines(const std::filesystem::path& network, const ImageInput& input, const std::string& layer) {
  std::vector<std::vector<float>> features;
  for (const NetworkEngine engine : {NetworkEngine::opencv, NetworkEngine::onnxruntime}) {
    std::string problem;
    const auto backbone = open_backbone({network, layer, input, 0, engine}, problem);
    EXPECT_NE(backbone, nullptr) << problem;
    if (backbone == nullptr) return 1;
    EXPECT_TRUE(backbone->engine().starts_with(engine == NetworkEngine::opencv ? "OpenCV " : "ONNX Runtime "));
    auto& all = features.emplace_back();
    for (unsigned seed = 0; seed < 20; ++seed) {
      const std::string photo = bmp_photo(40, 50 + seed, seed);
      const auto one = features_of_image(*backbone, input, bytes_of(photo), "photo");
      all.insert(all.end(), one.begin(), one.end());
    }
  }
  EXPECT_EQ(features[0].size(), features[1].size());
  if (features[0].size() != features[1].size()) return 1;
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < features[0].size(); ++i) {
    largest = std::max<double>(largest, std::abs(features[0][i]));
    difference = std::max<double>(difference, std::abs(features[0][i] - features[1][i]));
  }
  EXPECT_GT(largest, 0);
  return difference / largest;
}

class EnginesTest : public testing::Test, protected NetworkFile {
 protected:
  void SetUp() override {
    PARSNETS_NEED_BACKBONES();
    if (engines_of_module().size() < 2) GTEST_SKIP() << kNoOnnxRuntime;
  }
};

/// A convolution of 3 x height x width, batch normalisation and max(0, ·).
struct Convolution {
  std::size_t outputs, kernel_y, kernel_x, stride_y, stride_x, top, left, bottom, right, dilation, group;
};

std::string onnx_of_convolution(const Convolution& c, const std::vector<float>& weights,
                                const std::vector<float>& channels, std::size_t height, std::size_t width) {
  const auto part = [&](std::size_t i) {
    return std::vector<float>(channels.begin() + static_cast<std::ptrdiff_t>(i * c.outputs),
                              channels.begin() + static_cast<std::ptrdiff_t>((i + 1) * c.outputs));
  };
  const std::string attributes =
      onnx_integers("kernel_shape", {c.kernel_y, c.kernel_x}) + onnx_integers("strides", {c.stride_y, c.stride_x}) +
      onnx_integers("pads", {c.top, c.left, c.bottom, c.right}) + onnx_integers("dilations", {c.dilation, c.dilation}) +
      onnx_part(5, onnx_part(1, "group") + onnx_number(3, c.group) + onnx_number(20, 2));
  OnnxParts parts{{onnx_node("Conv", {"image", "w", "p0"}, "a", attributes),
                   onnx_node("BatchNormalization", {"a", "p1", "p2", "p3", "p4"}, "b"), onnx_node("Relu", {"b"}, "c"),
                   onnx_node("Flatten", {"c"}, "features")},
                  {onnx_weights("w", {c.outputs, 3 / c.group, c.kernel_y, c.kernel_x}, weights)},
                  {onnx_value("image", {0, 3, height, width})},
                  {onnx_value("features", {0, 0})}};
  for (std::size_t i = 0; i < 5; ++i)
    parts.weights.push_back(onnx_weights("p" + std::to_string(i), {c.outputs}, part(i)));
  return onnx_file(parts);
}

/// By the definition, in double.
std::vector<double> convolved(const Convolution& c, const std::vector<float>& weights,
                              const std::vector<float>& channels, std::size_t height, std::size_t width,
                              const std::vector<float>& x) {
  const auto side = [&](std::size_t size, std::size_t kernel, std::size_t stride) {
    return (size - c.dilation * (kernel - 1) - 1) / stride + 1;
  };
  const std::size_t rows = side(height + c.top + c.bottom, c.kernel_y, c.stride_y),
                    columns = side(width + c.left + c.right, c.kernel_x, c.stride_x), inputs = 3 / c.group;
  std::vector<double> values;
  for (std::size_t o = 0; o < c.outputs; ++o)
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = channels[o];
        for (std::size_t i = 0; i < inputs; ++i)
          for (std::size_t a = 0; a < c.kernel_y; ++a)
            for (std::size_t b = 0; b < c.kernel_x; ++b) {
              const std::size_t y = r * c.stride_y + a * c.dilation - c.top,  // wraps around where it is padding
                  z = j * c.stride_x + b * c.dilation - c.left, channel = o / (c.outputs / c.group) * inputs + i;
              if (y < height && z < width)
                sum += static_cast<double>(weights[((o * inputs + i) * c.kernel_y + a) * c.kernel_x + b]) *
                       x[(channel * height + y) * width + z];
            }
        const auto of = [&](std::size_t k) { return static_cast<double>(channels[k * c.outputs + o]); };
        values.push_back(std::max(0.0, (sum - of(3)) / std::sqrt(of(4) + 1e-5) * of(1) + of(2)));
      }
  return values;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Each, EngineTest, testing::Values(NetworkEngine::opencv, NetworkEngine::onnxruntime), name_of);

TEST_P(EngineTest, LayersByNameAndMeansOverPositions) {
  const ImageInput input{PixelPreset::caffe, ImageFit::whole, 8, 6};
  const std::string photo = bmp_photo(8, 6, 5);
  const auto pixels = open(onnx_of_pixels(8, 6), input), positive = open(onnx_of_pixels(8, 6), input, "positive");
  ASSERT_NE(pixels, nullptr);
  ASSERT_NE(positive, nullptr) << problem_;
  EXPECT_EQ(pixels->layer(), "pixels");
  EXPECT_EQ(positive->layer(), "positive");
  EXPECT_EQ(positive->dimensions(), 3u);
  const auto bytes = bytes_of(photo);
  const auto all = features_of_image(*pixels, input, bytes, "photo"),
             means = features_of_image(*positive, input, bytes, "photo");
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < 48; ++i) sum += std::max(0.0F, all[48 * c + i]);
    EXPECT_NEAR(means[c], sum / 48, 1e-3);
  }
}

TEST_P(EngineTest, ConvolutionsAreWhatTheyAreDefinedAs) {
  constexpr std::size_t kHeight = 29, kWidth = 37;
  std::mt19937 draw(7);
  std::normal_distribution<float> normal;
  const auto drawn = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = normal(draw);
    return values;
  };
  const ImageInput input{PixelPreset::torchvision, ImageFit::whole, kWidth, kHeight};
  const std::vector<float> x = drawn(3 * kHeight * kWidth);
  for (const Convolution& c : {Convolution{5, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1},
                               {64, 1, 1, 2, 2, 0, 0, 0, 0, 1, 1},
                               {7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
                               {33, 7, 7, 2, 2, 3, 3, 3, 3, 1, 1},
                               {6, 3, 5, 2, 3, 0, 2, 1, 4, 1, 1},
                               {6, 3, 3, 1, 2, 2, 2, 2, 2, 2, 1},
                               {4, 2, 9, 1, 1, 0, 40, 3, 0, 1, 1},
                               {6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 3}}) {
    const std::vector<float> weights = drawn(c.outputs * 3 / c.group * c.kernel_y * c.kernel_x);
    std::vector<float> channels = drawn(5 * c.outputs);
    for (std::size_t o = 0; o < c.outputs; ++o)
      channels[4 * c.outputs + o] = 0.5F + std::abs(channels[4 * c.outputs + o]);
    const auto expected = convolved(c, weights, channels, kHeight, kWidth, x);
    const auto backbone = open(onnx_of_convolution(c, weights, channels, kHeight, kWidth), input);
    ASSERT_NE(backbone, nullptr) << problem_;
    ASSERT_EQ(backbone->dimensions(), expected.size());
    std::vector<float> features(expected.size());
    ASSERT_EQ(backbone->run(x, 1, features), "");
    for (std::size_t i = 0; i < features.size(); ++i)
      ASSERT_NEAR(features[i], expected[i], 1e-4) << "kernel " << c.kernel_y << " x " << c.kernel_x << ", value " << i;
  }
}

TEST_P(EngineTest, APhotographIsTheSameAloneInABatchAndWithAnyThreads) {
  const ImageInput input{PixelPreset::torchvision, ImageFit::centre, 23,
                         23};  // threads of OpenCV would round it in other ways
  const std::size_t values = 3 * 23 * 23, count = 5;
  std::vector<float> inputs(count * values);
  std::vector<std::vector<float>> results;
  for (const unsigned threads : {1u, 2u, 3u}) {
    const auto backbone = open(onnx_with_convolutions(23), input, "", threads);
    ASSERT_NE(backbone, nullptr) << problem_;
    for (unsigned i = 0; i < count; ++i) {
      const std::string photo = bmp_photo(40, 50, i % 4);  // the last is the first
      ASSERT_EQ(backbone->prepare(bytes_of(photo), std::span(inputs).subspan(i * values, values)), "");
    }
    std::vector<float> together(count * 33), alone(count * 33);
    ASSERT_EQ(backbone->run(inputs, count, together), "");
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(backbone->run(std::span(inputs).subspan(i * values, values), 1, std::span(alone).subspan(i * 33, 33)),
                "");
    EXPECT_EQ(together, alone);
    EXPECT_TRUE(std::equal(together.begin(), together.begin() + 33, together.end() - 33)) << "equal photographs";
    EXPECT_FALSE(std::equal(together.begin(), together.begin() + 33, together.begin() + 33));
    results.push_back(together);
  }
  for (const auto& result : results) EXPECT_EQ(result, results[0]) << "bit for bit";
}

TEST_P(EngineTest, SeveralThreadsRunItAtATime) {
  const ImageInput input{PixelPreset::torchvision, ImageFit::centre, 23, 23};
  std::vector<std::vector<float>> alone, together(24);
  for (const unsigned threads : {1u, 3u}) {
    const auto backbone = open(onnx_with_convolutions(23), input, "", threads);
    ASSERT_NE(backbone, nullptr) << problem_;
    const auto features = [&](unsigned seed) {
      const std::string photo = bmp_photo(40, 50, seed);
      return features_of_image(*backbone, input, bytes_of(photo), "photo");
    };
    if (threads == 1)
      for (unsigned i = 0; i < together.size(); ++i) alone.push_back(features(i));
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < 4; ++t)
      workers.emplace_back([&, t] {
        for (unsigned i = t; i < together.size(); i += 4) together[i] = features(i);
      });
    for (auto& worker : workers) worker.join();
    EXPECT_EQ(together, alone);
  }
}

TEST_P(EngineTest, NetworksThatDoNotFitAreExplained) {
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 16, 16};
  EXPECT_MENTIONS(problem_of(onnx_of_pixels(8, 8), input), "takes any x 3 x 8 x 8");
  EXPECT_MENTIONS(problem_of(onnx_of_pixels(), input, "none"), "found 'none'");
  EXPECT_MENTIONS(problem_of("not a network", input), "expected an ONNX network");
  const auto of_node = [](const std::string& node) {
    return onnx_file({{node}, {}, {onnx_value("image", {0, 3, 16, 16})}, {onnx_value("y", {})}});
  };
  EXPECT_NE(problem_of(of_node(onnx_node("NoSuchOperator", {"image"}, "y")), input), "");
  if (GetParam() == NetworkEngine::opencv) {
    EXPECT_TRUE(problem_.starts_with("OpenCV 4.") &&
                problem_.ends_with(" does not support the operator NoSuchOperator; "
                                   "export the network with opset 10, or use ONNX "
                                   "Runtime"))
        << problem_;
    const std::string shapeless = onnx_part(1, "y") + onnx_part(2, onnx_part(1, onnx_number(1, 1)));
    const auto relu = onnx_node("Relu", {"image"}, "y");
    EXPECT_TRUE(problem_of(onnx_file({{relu}, {}, {onnx_value("image", {0, 3, 16, 16})}, {shapeless}}), input)
                    .starts_with("the output 'y' has no shape, which OpenCV 4."))
        << problem_;
  }
  EXPECT_NE(problem_of(of_node(onnx_node("Relu", {"missing"}, "y")), input), "");
  EXPECT_NE(problem_of(of_node(onnx_node("Reshape", {"image", "s"}, "y")), input), "");
  EXPECT_EQ(open_backbone({dir_ / "absent.onnx", "", input, 0}, problem_), nullptr);
  EXPECT_NE(problem_, "");
}

TEST_P(EngineTest, ValuesThatAreNotFiniteAreAProblem) {
  const ImageInput input{PixelPreset::caffe, ImageFit::whole, 4, 4};
  const auto backbone = open(onnx_file({{onnx_node("Log", {"image"}, "y"), onnx_node("Flatten", {"y"}, "z")},
                                        {},
                                        {onnx_value("image", {0, 3, 4, 4})},
                                        {onnx_value("z", {})}}),
                             input);
  ASSERT_NE(backbone, nullptr) << problem_;
  std::vector<float> features(48);
  EXPECT_MENTIONS(backbone->run(std::vector<float>(48, -1), 1, features), "not finite");
  EXPECT_EQ(backbone->run(std::vector<float>(48, 1), 1, features), "");
}

TEST_F(EnginesTest, GiveTheSameFeaturesButForRounding) {
  const ImageInput input{PixelPreset::torchvision, ImageFit::centre, 30, 30};
  write_text_file(dir_ / "pixels.onnx", onnx_of_pixels(30, 30));
  write_text_file(dir_ / "convolutions.onnx", onnx_with_convolutions(30));
  EXPECT_EQ(difference_of_engines(dir_ / "pixels.onnx", input, "pixels"), 0);
  EXPECT_LT(difference_of_engines(dir_ / "pixels.onnx", input, "positive"), 1e-6);
  for (const char* layer : {"", "a", "b", "c", "d", "e"})
    EXPECT_LT(difference_of_engines(dir_ / "convolutions.onnx", input, layer), 1e-5) << layer;
}

TEST_F(EnginesTest, GiveTheSameFeaturesOfTheTinyBackbone) {
  const std::string network = (dir_ / "tiny.onnx").string();
  if (std::system("/usr/bin/python3 -c 'import numpy, onnx, PIL'") != 0)
    GTEST_SKIP() << "NOT TESTED: install python3-numpy, python3-onnx and python3-pil";
  ASSERT_EQ(
      std::system(
          ("/usr/bin/python3 '" PARSNETS_SOURCE_DIR "/scripts/tiny_backbone.py' --out '" + network + "'").c_str()),
      0);
  EXPECT_LT(difference_of_engines(network, {PixelPreset::tf, ImageFit::centre, 32, 32}, ""), 1e-5);
}

TEST_F(EnginesTest, OnnxRuntimeKnowsOperatorsThatOpenCvLacks) {
  const std::string norms =
      onnx_file({{onnx_node("GlobalLpPool", {"image"}, "norms"), onnx_node("Flatten", {"norms"}, "features")},
                 {},
                 {onnx_value("image", {0, 3, 8, 8})},
                 {onnx_value("features", {0, 3})}});
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 8, 8};
  EXPECT_EQ(open(norms, input, "", 0, NetworkEngine::opencv), nullptr);
  const auto backbone = open(norms, input, "", 0, NetworkEngine::onnxruntime);
  ASSERT_NE(backbone, nullptr) << problem_;
  std::vector<float> features(3);
  ASSERT_EQ(backbone->run(std::vector<float>(3 * 64, -0.5F), 1, features), "");
  for (const float norm : features) EXPECT_NEAR(norm, 4, 1e-5) << "the square root of 64 times 0.25";
}

TEST(Engines, AMissingOneIsAProblem) {
  PARSNETS_NEED_BACKBONES();
  if (engines_of_module().size() == 2) GTEST_SKIP() << "NOT TESTED: this build has all engines";
  TempDir dir;
  write_text_file(dir / "pixels.onnx", onnx_of_pixels(8, 8));
  std::string problem;
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 8, 8};
  EXPECT_EQ(open_backbone({dir / "pixels.onnx", "", input, 0, NetworkEngine::onnxruntime}, problem), nullptr);
  EXPECT_EQ(problem, "this build has no ONNX Runtime");
}

}  // namespace parsnets::test
