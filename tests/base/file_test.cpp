#include "base/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "expect.hpp"
#include "temp_dir.hpp"

static int umask_calls = 0;

/// In place of the C library's, also for the library under test.
extern "C" mode_t umask(mode_t mask) noexcept {
  ++umask_calls;
  return static_cast<mode_t>(::syscall(SYS_umask, mask));
}

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

TEST(File, AReplacedFileKeepsItsModeAndOwner) {
  test::TempDir dir;
  const auto file = dir / "a";
  const bool root = ::geteuid() == 0;
  for (const mode_t mode : {0600, 0640, 0755}) {
    write_text_file(file, "first");
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    ASSERT_TRUE(!root || ::chown(file.c_str(), 12, 34) == 0);
    write_text_file(file, "second");
    struct stat now {};
    ASSERT_EQ(::stat(file.c_str(), &now), 0);
    EXPECT_EQ(now.st_mode & 07777, mode);
    EXPECT_TRUE(!root || (now.st_uid == 12 && now.st_gid == 34));
  }
}

TEST(File, WritingGoesThroughSymbolicLinks) {
  test::TempDir dir;
  std::filesystem::create_directories(dir / "store");
  write_text_file(dir / "store" / "model", "first");
  std::filesystem::create_symlink("model", dir / "store" / "latest");
  std::filesystem::create_symlink("store/latest", dir / "link");
  std::filesystem::create_symlink("store/new", dir / "dangling");
  std::filesystem::create_symlink("circle", dir / "circle");
  write_text_file(dir / "link", "second");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link") && std::filesystem::is_symlink(dir / "store" / "latest"));
  EXPECT_EQ(read_text_file(dir / "store" / "model"), "second");
  check_writable(dir / "dangling");
  write_text_file(dir / "dangling", "new");
  EXPECT_EQ(read_text_file(dir / "store" / "new"), "new");
  test::expect_error([&] { write_text_file(dir / "circle", "x"); }, "symbolic links", ErrorCode::failure);
  EXPECT_EQ(files_in(dir / "store"), 3u);
}

TEST(File, TheNextWriterRemovesWhatKilledOnesLeftAndNothingOfThoseAtWork) {
  test::TempDir dir;
  const auto file = dir / "a";
  write_text_file(file, "first");
  write_text_file(dir / "a.parsnets-0.txt", "of somebody else");
  std::vector<pid_t> killed;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  for (int i = 0; i < 3; ++i) {
    killed.push_back(::fork());
    if (killed.back() == 0) {
      AtomicFile half(file);
      half.write("half");
      if (::write(ready[1], "x", 1) == 1) ::pause();
      ::_exit(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  }
  AtomicFile at_work(file);
  at_work.write("at work");
  EXPECT_EQ(files_in(dir.path()), 6u);
  for (const pid_t pid : killed) ::kill(pid, SIGKILL);
  for (const pid_t pid : killed) ::waitpid(pid, nullptr, 0);
  write_text_file(file, "second");
  EXPECT_EQ(files_in(dir.path()), 3u);
  at_work.commit();
  EXPECT_EQ(read_text_file(file), "at work");
  EXPECT_EQ(files_in(dir.path()), 2u);
  for (const int end : ready) ::close(end);
}

TEST(File, WritersOfOneFileDoNotDisturbEachOther) {
  test::TempDir dir;
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t)
    writers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) write_text_file(dir / "a", "whole");
    });
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(read_text_file(dir / "a"), "whole");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

// A process has one umask: changed for a moment, files of other threads would be open to everybody.
TEST(File, MakingAFileKeepsToTheUmaskAndDoesNotChangeIt) {
  test::TempDir dir;
  const mode_t before = ::umask(027);
  umask_calls = 0;
  write_text_file(dir / "a", "text");
  EXPECT_EQ(umask_calls, 0);
  ::umask(before);
  struct stat made {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0640u);
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
