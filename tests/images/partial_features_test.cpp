#include "images/partial_features.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "images/bmp_photos.hpp"
#include "parsnets/error.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

std::vector<float> row(float value) { return std::vector<float>(12, value); }

std::string sum(char digit) { return std::string(64, digit); }

struct Messages final : ProgressObserver {
  bool on_progress(const ProgressEvent&) override { return true; }
  void on_message(std::string_view message) override { text += message; }
  std::string text;
};

/// Three photographs in a folder.
fs::path write_three(const TempDir& dir) {
  PartialFeatures partial(dir / "out", source_of_bmp_backbone(), nullptr);
  partial.append("a", sum('a'), row(1));
  partial.append("b", sum('b'), row(2));
  partial.append("c", sum('c'), row(3));
  return partial.file();
}

ErrorCode code_of(const fs::path& folder, const FeatureSource& source, ProgressObserver* progress = nullptr) {
  try {
    PartialFeatures partial(folder, source, progress);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

}  // namespace

TEST(PartialFeatures, ContinueWhereTheyEnded) {
  TempDir dir;
  write_three(dir);
  FeatureSource renamed = source_of_bmp_backbone();
  renamed.backbone = "another-name.onnx";
  PartialFeatures partial(dir / "out", renamed, nullptr);
  EXPECT_EQ(partial.size(), 3u);
  EXPECT_TRUE(partial.has("b") && partial.has("b", sum('b')));
  EXPECT_FALSE(partial.has("b", sum('c'))) << "the file was changed";
  EXPECT_FALSE(partial.has("d") || partial.has("d", sum('b')));
  std::vector<float> values(12);
  partial.read("c", values);
  EXPECT_EQ(values, row(3));
  partial.append("b", sum('e'), row(5));
  partial.read("b", values);
  EXPECT_EQ(values, row(5));
}

TEST(PartialFeatures, DamageAtAnyByteCostsAtMostWhatFollows) {
  TempDir dir;
  const fs::path file = write_three(dir);
  const std::string whole = read_text_file(file);
  const std::size_t header = whole.find('\n', whole.find('\n') + 1) + 1, record = (whole.size() - header) / 3;
  for (std::size_t at = header; at < whole.size(); ++at)
    for (const bool cut : {true, false}) {
      std::string damaged = cut ? whole.substr(0, at) : whole;
      if (!cut) damaged[at] ^= 4;
      std::ofstream(file, std::ios::binary) << damaged;
      Messages messages;
      PartialFeatures partial(dir / "out", source_of_bmp_backbone(), &messages);
      ASSERT_EQ(partial.size(), (at - header) / record) << at << cut;
      if (!cut || (at - header) % record != 0) {
        EXPECT_NE(messages.text.find("damaged"), std::string::npos) << at;
      }
    }
}

TEST(PartialFeatures, OfAnotherNetworkOrDamagedAreRefused) {
  TempDir dir;
  const fs::path file = write_three(dir);
  const std::string whole = read_text_file(file);
  FeatureSource other = source_of_bmp_backbone();
  other.sha256 = std::string(64, 'b');
  EXPECT_EQ(code_of(dir / "out", other), ErrorCode::bad_input);
  other = source_of_bmp_backbone();
  other.input.fit = ImageFit::centre;
  EXPECT_EQ(code_of(dir / "out", other), ErrorCode::bad_input);
  EXPECT_EQ(read_text_file(file), whole) << "it stays as it was";
  write_text_file(file, "something else");
  EXPECT_EQ(code_of(dir / "out", source_of_bmp_backbone()), ErrorCode::bad_input);
  EXPECT_EQ(read_text_file(file), "something else");
  write_text_file(file, whole.substr(0, 40));  // interrupted before the first photograph
  PartialFeatures partial(dir / "out", source_of_bmp_backbone(), nullptr);
  EXPECT_EQ(partial.size(), 0u);
}

TEST(PartialFeatures, OfAnEarlierVersionAreReadAgain) {
  TempDir dir;
  const fs::path file = write_three(dir);
  std::string earlier = read_text_file(file);
  earlier[earlier.find('2')] = '1';  // in its first line
  write_text_file(file, earlier);
  Messages messages;
  PartialFeatures partial(dir / "out", source_of_bmp_backbone(), &messages);
  EXPECT_EQ(partial.size(), 0u);
  EXPECT_NE(messages.text.find("by an earlier version; its photographs are read again"), std::string::npos);
  EXPECT_EQ(messages.text.find("damaged"), std::string::npos) << messages.text;
  partial.append("a", sum('a'), row(1));
  EXPECT_TRUE(partial.has("a", sum('a')));
}

TEST(PartialFeatures, NeedARegularFile) {
  TempDir dir;
  fs::create_directories(dir / "out");
  fs::create_symlink("/dev/null", dir / "out/extraction.partial");
  EXPECT_EQ(code_of(dir / "out", source_of_bmp_backbone()), ErrorCode::bad_input);
  EXPECT_TRUE(fs::is_symlink(dir / "out/extraction.partial"));
}

TEST(PartialFeatures, AFolderWithADataSetIsLeftAlone) {
  for (const char* name : {"features.npy", "features.csv", "labels.npz", "image_files.csv", "split.json", "att.mat"}) {
    TempDir dir;
    fs::create_directories(dir / "out");
    write_text_file(dir / "out" / name, "x");
    EXPECT_EQ(code_of(dir / "out", source_of_bmp_backbone()), ErrorCode::usage) << name;
    EXPECT_EQ(std::distance(fs::directory_iterator(dir / "out"), {}), 1);
  }
}

TEST(PartialFeatures, NothingIsLeftOfAnEmptyOne) {
  TempDir dir;
  for (const char* folder : {"out", "new/deeper/out", "new/deeper/out/"}) {
    { PartialFeatures partial(dir / folder, source_of_bmp_backbone(), nullptr); }
    EXPECT_TRUE(fs::is_empty(dir.path())) << folder;
  }
  fs::create_directories(dir / "mine");
  { PartialFeatures partial(dir / "mine/out", source_of_bmp_backbone(), nullptr); }
  EXPECT_TRUE(fs::is_empty(dir / "mine")) << "a folder that was there stays";
  {
    PartialFeatures partial(dir / "new/out", source_of_bmp_backbone(), nullptr);
    write_text_file(dir / "new/other", "of another process");
  }
  EXPECT_TRUE(fs::exists(dir / "new/other"));
  EXPECT_FALSE(fs::exists(dir / "new/out"));
}

TEST(PartialFeatures, ADataSetThatWasCompletedBeforeTheFileWasHeldIsLeftAlone) {
  TempDir dir;
  fs::create_directories(dir / "out");
  for (const std::string& begun : {""s, "parsnets extr"s}) {  // one process looked, another wrote, the first began
    write_text_file(dir / "out/features.npy", "complete");
    write_text_file(dir / "out/extraction.partial", begun);
    EXPECT_EQ(code_of(dir / "out", source_of_bmp_backbone()), ErrorCode::usage);
    EXPECT_FALSE(fs::exists(dir / "out/extraction.partial"));
    EXPECT_EQ(read_text_file(dir / "out/features.npy"), "complete");
  }
}

TEST(PartialFeatures, AnotherThatWaitedFindsTheDataSet) {
  TempDir dir;
  auto first = std::make_unique<PartialFeatures>(dir / "out", source_of_bmp_backbone(), nullptr);
  first->append("a", sum('a'), row(1));
  struct Waiting : ProgressObserver {
    bool on_progress(const ProgressEvent&) override { return true; }
    void on_message(std::string_view message) override {
      if (message.starts_with("waiting for another process")) told.set_value();
    }
    std::promise<void> told;
  } waiting;
  ErrorCode code{};
  std::thread second([&] { code = code_of(dir / "out", source_of_bmp_backbone(), &waiting); });
  waiting.told.get_future().wait();
  write_text_file(dir / "out/features.npy", "complete");
  first->remove();
  first.reset();
  second.join();
  EXPECT_EQ(code, ErrorCode::usage);
  EXPECT_EQ(read_text_file(dir / "out/features.npy"), "complete");
}

}  // namespace parsnets::test
