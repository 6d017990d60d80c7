// The module as a whole: decoding, the network's input, layers, problems. Needs OpenCV.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "backbones/backbones_module.hpp"
#include "backbones/onnx_bytes.hpp"
#include "formats/npy.hpp"
#include "formats/numpy_oracle.hpp"
#include "images/bmp_photos.hpp"
#include "images/features_of_image.hpp"

namespace parsnets::test {

namespace {

namespace fs = std::filesystem;

class PhotoBackboneTest : public testing::Test, protected NetworkFile {
 protected:
  void SetUp() override { PARSNETS_NEED_BACKBONES(); }
};

}  // namespace

TEST_F(PhotoBackboneTest, EveryKindOfPhotographAsNumpyAndPillowSeeIt) {
  if (!run_oracle("photo_oracle.py", "probe")) GTEST_SKIP() << "NOT TESTED against Pillow: install python3-pil";
  fs::create_directories(dir_ / "photos");
  ASSERT_TRUE(run_oracle("photo_oracle.py", "write", (dir_ / "photos").string()));
  for (const ImageFit fit : {ImageFit::whole, ImageFit::centre}) {
    const ImageInput input{PixelPreset::caffe, fit, 28, 20};
    const auto backbone = open(onnx_of_pixels(28, 20), input);
    ASSERT_NE(backbone, nullptr) << problem_;
    ASSERT_EQ(backbone->dimensions(), 3u * 28 * 20);
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(dir_ / "photos"))
      if (entry.path().extension() != ".npy" && entry.path().extension() != ".jpeg") files.push_back(entry.path());
    std::ranges::sort(files);
    const Matrix<float> expected =
        read_npy_float({dir_ / "photos" / (fit == ImageFit::whole ? "whole.npy" : "centre.npy"), ""});
    ASSERT_EQ(expected.rows(), files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto features = features_of_image(*backbone, input, read_image_file(files[i]), files[i].string());
      float largest = 0;
      for (std::size_t k = 0; k < features.size(); ++k)
        largest = std::max(largest, std::abs(features[k] - expected(i, k)));
      EXPECT_LT(largest, 1.01F) << files[i].filename() << ": decoders may round a byte in another way";
      if (files[i].extension() == ".png" || files[i].extension() == ".bmp") {
        EXPECT_LT(largest, 0.01F) << files[i].filename();
      }
    }
  }
}

TEST_F(PhotoBackboneTest, InksBecomeThreeChannels) {
  if (!run_oracle("photo_oracle.py", "probe")) GTEST_SKIP() << "NOT TESTED: install python3-pil";
  ASSERT_TRUE(run_oracle("photo_oracle.py", "write", dir_.path().string()));
  const ImageInput input{PixelPreset::caffe, ImageFit::whole, 8, 8};
  const auto backbone = open(onnx_of_pixels(), input);
  ASSERT_NE(backbone, nullptr) << problem_;
  const auto features = features_of_image(*backbone, input, read_image_file(dir_ / "inks.jpeg"), "inks");
  EXPECT_GT(features[2 * 64 + 7], features[2 * 64] + 150) << "red grows to the right";
  EXPECT_GT(features[64 + 56], features[64] + 150) << "green grows downwards";
}

TEST_F(PhotoBackboneTest, MaximaFollowAveragesOfWhatTheLayerAverages) {
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 12, 12};
  const fs::path photo = dir_ / "photo.bmp";
  write_photo(photo, 5, 40, 30);
  const auto features = [&](const std::string& layer, FeatureSource::Pooling pool) {
    const fs::path file = dir_ / "pooled.onnx";
    write_text_file(file, onnx_with_convolutions(12));
    const auto backbone = open_backbone({.file = file, .layer = layer, .input = input, .pool = pool}, problem_);
    EXPECT_NE(backbone, nullptr) << problem_;
    return backbone ? features_of_image(*backbone, input, read_image_file(photo), "photo") : std::vector<float>();
  };
  const auto average = features("e", FeatureSource::Pooling::average),
             both = features("e", FeatureSource::Pooling::both);
  ASSERT_EQ(both.size(), 2 * average.size());
  for (std::size_t c = 0; c < average.size(); ++c) {
    EXPECT_NEAR(both[c], average[c], 1e-4F);
    EXPECT_GT(both[average.size() + c], both[c]);
  }
  EXPECT_EQ(features("c", FeatureSource::Pooling::both), both) << "the layer itself has positions";
}

TEST_F(PhotoBackboneTest, SeveralThreadsDecodeAtOnce) {
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 16, 16};
  const auto backbone = open(onnx_of_pixels(), input);
  ASSERT_NE(backbone, nullptr);
  std::vector<std::vector<float>> results(8);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const std::string photo = bmp_photo(64, 48, t % 2);
      results[t] = features_of_image(*backbone, input, bytes_of(photo), "photo");
    });
  for (auto& thread : threads) thread.join();
  for (unsigned t = 0; t < 8; ++t) EXPECT_EQ(results[t], results[t % 2]);
  EXPECT_NE(results[0], results[1]);
}

TEST_F(PhotoBackboneTest, AShortageOfMemoryIsNoDamage) {
  // 7000 x 7000 pixels, progressive: 98 MB of coefficients and 147 MB of pixels
  using namespace std::string_literals;
  const std::string one_code = "\1"s + std::string(15, '\0') + '\0';
  const std::string photo = "\xff\xd8" + jpeg_segment(0xdb, '\0' + std::string(64, '\1')) +
                            jpeg_segment(0xc2, "\x08\x1b\x58\x1b\x58\1\1\x11\0"s) +
                            jpeg_segment(0xc4, '\0' + one_code) + jpeg_segment(0xda, "\1\1\0\0\0\0"s) + "\xff\xd9";
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 8, 8};
  const auto backbone = open(onnx_of_pixels(), input);
  ASSERT_NE(backbone, nullptr) << problem_;
  std::vector<float> values(3 * 64);
  ASSERT_EQ(backbone->prepare(bytes_of(photo), values), "");
  std::ifstream sizes("/proc/self/statm");
  std::size_t pages = 0;
  sizes >> pages;
  if (pages > std::size_t{1} << 30) GTEST_SKIP() << "NOT TESTED: sanitizers reserve all memory";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlim_t most = pages * static_cast<rlim_t>(::getpagesize()) + (std::size_t{100} << 20);
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_AS, &limit);
    ::_exit(backbone->prepare(bytes_of(photo), values) == kNotEnoughMemory ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(PhotoBackboneTest, AProcessThatEndedBetweenPhotographsIsReplaced) {
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 8, 8};
  const auto backbone = open(onnx_of_pixels(), input);
  ASSERT_NE(backbone, nullptr) << problem_;
  const std::string photo = bmp_photo(64, 48, 1);
  std::vector<float> before(3 * 64), after(3 * 64);
  ASSERT_EQ(backbone->prepare(bytes_of(photo), before), "");
  std::size_t ended = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;
    std::istringstream behind_name(stat.substr(stat.rfind(')') + 1));
    char state = 0;
    pid_t parent = 0;
    if (behind_name >> state >> parent && parent == ::getpid())
      ended += ::kill(std::stoi(entry.path().filename()), SIGKILL) == 0;
  }
  ASSERT_EQ(ended, 2u) << "one process decodes for one thread, another has the network";
  EXPECT_EQ(backbone->prepare(bytes_of(photo), after), "");
  EXPECT_EQ(after, before);
  std::vector<float> features(backbone->dimensions());
  EXPECT_EQ(backbone->run(after, 1, features), "");
  EXPECT_EQ(features, after);
}

TEST_F(PhotoBackboneTest, DamagedFilesGiveAProblemAndPrintNothing) {
  if (!run_oracle("photo_oracle.py", "probe")) GTEST_SKIP() << "NOT TESTED: install python3-pil";
  ASSERT_TRUE(run_oracle("photo_oracle.py", "write", dir_.path().string()));
  const ImageInput input{PixelPreset::caffe, ImageFit::whole, 28, 20};
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const std::string network = onnx_with_convolutions(20);
  for (std::size_t length = 0; length < network.size(); length += 1 + network.size() / 40)
    open(network.substr(0, length), input);
  const auto backbone = open(onnx_of_pixels(), input);
  std::size_t refused = 0, tried = 0;
  std::mt19937 draw(1);
  if (backbone != nullptr)
    for (const char* name : {"turned3.jpg", "progressive.jpg", "plain.png", "palette.png", "lossless.webp",
                             "lossy.webp", "plain.bmp", "inks.jpeg", "turned.png"}) {
      const auto whole = read_image_file(dir_ / name);
      for (int round = 0; round < 60; ++round) {
        auto damaged = whole;
        if (round % 2 == 0) damaged.resize(1 + draw() % whole.size());
        if (round % 2 == 1)
          for (unsigned flips = 1 + draw() % 20; flips > 0; --flips)
            damaged[draw() % damaged.size()] ^= std::byte(1u << draw() % 8);
        try {
          features_of_image(*backbone, input, damaged, name);
        } catch (const Error&) {
          ++refused;
        }
        ++tried;
      }
    }
  [[maybe_unused]] const std::string said = testing::internal::GetCapturedStderr();
#ifndef PARSNETS_SANITIZED  // whose reports come from the processes, too
  EXPECT_EQ(said, "");
#endif
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(tried, 540u);
  EXPECT_GT(refused, tried / 4);
}

}  // namespace parsnets::test
