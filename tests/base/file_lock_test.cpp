#include "base/file_lock.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "temp_dir.hpp"

namespace parsnets {

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
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1) << "no lock file is left";
}

TEST(FileLock, AMissingFileIsBadInput) {
  test::TempDir dir;
  try {
    const FileLock lock(dir / "none", nullptr);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_input);
    EXPECT_EQ(e.parts().file, (dir / "none").string());
  }
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
  EXPECT_NE(listener.heard.find("waiting for another process"), std::string::npos);
}

}  // namespace parsnets
