#include "base/scratch_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/machine.hpp"
#include "environment_variable.hpp"
#include "expect.hpp"
#include "formats/npy.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

TEST(ScratchFile, ALargeMatrixLeavesMemoryAndKeepsItsValues) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "NOT TESTED: the thread sanitizer keeps memory of its own for each page";
#endif
  const test::TempDir dir;
  const test::EnvironmentVariable place("TMPDIR", dir.path().string());
  const std::size_t rows = 8192, cols = 1025;  // 34 MB, rows that are no multiple of a page
  Matrix<float> matrix = new_matrix(rows, cols, {1u << 20, 0}, "values");
  ASSERT_TRUE(matrix.is_mapped());
  EXPECT_TRUE(std::filesystem::is_empty(dir.path())) << "the file has no name";
  const auto before = resident_memory();
  {
    UsedRows used(matrix);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) matrix(r, c) = static_cast<float>(r * 3 + c);
      used.add(r, 1);
    }
  }
  EXPECT_LT(resident_memory(), before + (20u << 20));
  for (std::size_t r = 0; r < rows; r += 7)
    for (std::size_t c = 0; c < cols; c += 11) ASSERT_EQ(matrix(r, c), static_cast<float>(r * 3 + c));
}

TEST(ScratchFile, ASmallMatrixStaysInMemory) {
  EXPECT_FALSE(new_matrix(10, 10, MatrixPlace::within(1600), "values").is_mapped());
  EXPECT_TRUE(new_matrix(10, 11, MatrixPlace::within(1600), "values").is_mapped());
  EXPECT_FALSE(new_matrix(1000, 1000, MatrixPlace::within(0), "values").is_mapped());
}

TEST(ScratchFile, TooLittleSpaceIsRefusedBeforeTheWork) {
  for (const auto& [folder, found] : {std::pair("/proc/nowhere", "No such file"), std::pair("/tmp", "GB")}) {
    const test::EnvironmentVariable place("TMPDIR", folder);
    for (const char* part : {"free space for the values of x.npy", found, "set TMPDIR"})
      test::expect_error([] { new_matrix(std::size_t{1} << 40, 1024, {1, 0}, "the values of x.npy"); }, part);
  }
}

TEST(ScratchFile, ReadsWhatWasWritten) {
  ScratchFile file(100, "text");
  file.write_at(40, "abcdef", 6);
  std::string text(4, '\0');
  file.read_at(41, text.data(), text.size());
  EXPECT_EQ(text, "bcde");
  EXPECT_THROW(file.read_at(98, text.data(), text.size()), Error);
}

TEST(MappedRows, ReleasedRowsLeaveMemoryAndReadTheSame) {
  const test::TempDir dir;
  const std::size_t rows = 4096, cols = 1024;  // 16 MB
  Matrix<float> values(rows, cols);
  for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<float>(i % 1001);
  write_npy(dir / "x.npy", values.view());
  const Matrix<float> mapped = read_npy_float({dir / "x.npy", ""});
  ASSERT_TRUE(mapped.is_mapped());
  EXPECT_FALSE(values.is_mapped());
  EXPECT_TRUE(std::ranges::equal(mapped.values(), values.values()));
  const auto before = resident_memory();
  release_rows(mapped, 0, rows);
  EXPECT_LT(resident_memory() + (12u << 20), before);
  release_rows(values, 0, rows);  // not mapped: nothing may happen
  EXPECT_TRUE(std::ranges::equal(mapped.values(), values.values()));
}

}  // namespace

}  // namespace parsnets
