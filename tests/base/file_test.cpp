#include "base/file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>
#include <vector>

#include "expect.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST(File, OnlyACommittedWriteReplacesTheEarlierFileAndNothingElseIsLeft) {
  for (const bool committed : {false, true}) {
    test::TempDir dir;
    write_text_file(dir / "a", "first");
    {
      AtomicFile file(dir / "a");
      file.write("seco");
      file.write("nd");
      if (committed) file.commit();
    }
    EXPECT_EQ(read_text_file(dir / "a"), committed ? "second" : "first");
    EXPECT_EQ(files_in(dir.path()), 1u);
  }
}

TEST(File, WhatCanBeWrittenIsKnownBeforeAndWhatCannotIsNamedAndLeavesNoTrace) {
  test::TempDir dir;
  write_text_file(dir / "file", "kept");
  check_writable(dir / "file");
  check_writable(dir / "new");
  check_writable(dir / "missing" / "folders" / "new");
  check_writable_folder(dir / "missing");
  for (const auto& path :
       std::vector<std::filesystem::path>{dir.path(), dir / "file" / "below", "/proc/x", "/dev/null", dir / "new/"}) {
    const BadInput refused = test::error_of([&] { check_writable(path); }).parts();
    EXPECT_EQ(refused.file, path.string());
    EXPECT_FALSE(refused.advice.empty());
  }
  EXPECT_THROW(check_writable_folder(dir / "file"), Error);
  test::expect_error([] { AtomicFile file("/nonexistent-folder/a"); }, "/nonexistent-folder/a", ErrorCode::failure);
  EXPECT_EQ(read_text_file(dir / "file"), "kept");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(File, MissingEmptyAndDirectoryAreBadInputAndAMissingOneIsNotLocked) {
  test::TempDir dir;
  std::ofstream(dir / "empty");
  for (const auto& path : {dir / "missing", dir / "empty", dir.path()}) {
    EXPECT_EQ(test::error_of([&] { InputFile file(path); }).parts().file, path.string());
    EXPECT_THROW(MappedFile mapped(path), Error);
  }
  EXPECT_EQ(test::error_of([&] { const FileLock lock(dir / "none", nullptr); }).parts().file, (dir / "none").string());
}

TEST(File, ReadingBeyondTheEndNamesTheField) {
  test::TempDir dir;
  write_text_file(dir / "a", "12345");
  InputFile file(dir / "a");
  char buffer[8];
  file.read(buffer, 3, "head");
  EXPECT_EQ(file.remaining(), 2u);
  EXPECT_EQ(test::error_of([&] { file.read(buffer, 3, "tail"); }).parts().field, "tail");
  EXPECT_THROW(file.seek(6), Error);
}

TEST(FileLock, ReplacingAFileUnderTheLockLosesNoChange) {
  test::TempDir dir;
  const auto file = dir / "count";
  write_text_file(file, "0");
  constexpr int kThreads = 4, kChanges = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kChanges; ++i) {
        const FileLock lock(file, nullptr);
        write_text_file(file, std::to_string(std::stoi(read_text_file(file)) + 1));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(read_text_file(file), std::to_string(kThreads * kChanges));
  EXPECT_EQ(files_in(dir.path()), 1u) << "no lock file is left";
}

TEST(FileLock, WhoeverWaitsSaysSo) {
  struct Listener : ProgressObserver {
    bool on_progress(const ProgressEvent&) override { return true; }
    void on_message(std::string_view message) override {
      heard = message;
      first.reset();  // the other one is done
    }
    std::string heard;
    std::unique_ptr<FileLock> first;
  } listener;
  test::TempDir dir;
  write_text_file(dir / "a", "x");
  listener.first = std::make_unique<FileLock>(dir / "a", nullptr);
  const FileLock second(dir / "a", &listener);
  EXPECT_TRUE(test::contains(listener.heard, "waiting for another process"));
}

// The examples of FIPS 180-4, and lengths around the place where the length no longer fits the last block.
TEST(Sha256, IsThatOfTheStandard) {
  test::TempDir dir;
  const auto of = [&](const std::string& text) {
    write_text_file(dir / "text", text);
    return sha256_of_file(dir / "text");
  };
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(of(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace parsnets
