#include "base/mapped_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/machine.hpp"
#include "formats/npy.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

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
