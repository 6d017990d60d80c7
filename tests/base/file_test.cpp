#include "base/file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "parsnets/error.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST(File, AnUncommittedWriteLeavesTheEarlierFileAndNothingElse) {
  test::TempDir dir;
  write_text_file(dir / "a", "first");
  {
    AtomicFile file(dir / "a");
    file.write("half of the sec");
  }
  EXPECT_EQ(read_text_file(dir / "a"), "first");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(File, ACommittedWriteReplacesTheEarlierFile) {
  test::TempDir dir;
  write_text_file(dir / "a", "first");
  AtomicFile file(dir / "a");
  file.write("....nd");
  file.write_at(0, "seco", 4);
  file.commit();
  EXPECT_EQ(read_text_file(dir / "a"), "second");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(File, WritingWhereItIsImpossibleIsAFailureThatNamesThePath) {
  try {
    AtomicFile file("/nonexistent-folder/a");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failure);
    EXPECT_NE(std::string(e.what()).find("/nonexistent-folder/a"), std::string::npos);
  }
}

TEST(File, WhatCanBeWrittenIsKnownBeforeAndLeavesNoTrace) {
  test::TempDir dir;
  write_text_file(dir / "file", "kept");
  check_writable(dir / "file");
  check_writable(dir / "new");
  check_writable(dir / "missing" / "folders" / "new");
  check_writable_folder(dir / "missing");
  for (const auto& path :
       std::vector<std::filesystem::path>{dir.path(), dir / "file" / "below", "/proc/x", "/dev/null", dir / "new/"}) {
    try {
      check_writable(path);
      FAIL() << path;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
      EXPECT_EQ(e.parts().file, path.string());
      EXPECT_FALSE(e.parts().advice.empty());
    }
  }
  EXPECT_THROW(check_writable_folder(dir / "file"), Error);
  EXPECT_EQ(read_text_file(dir / "file"), "kept");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(File, MissingEmptyAndDirectoryAreBadInput) {
  test::TempDir dir;
  std::ofstream(dir / "empty");
  for (const auto& path : {dir / "missing", dir / "empty", dir.path()}) {
    try {
      InputFile file(path);
      FAIL() << path;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
      EXPECT_EQ(e.parts().file, path.string());
    }
    EXPECT_THROW(MappedFile mapped(path), Error);
  }
}

TEST(File, ReadingBeyondTheEndNamesTheField) {
  test::TempDir dir;
  write_text_file(dir / "a", "12345");
  InputFile file(dir / "a");
  char buffer[8];
  file.read(buffer, 3, "head");
  EXPECT_EQ(file.remaining(), 2u);
  try {
    file.read(buffer, 3, "tail");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().field, "tail");
  }
  EXPECT_THROW(file.seek(6), Error);
}

}  // namespace parsnets
