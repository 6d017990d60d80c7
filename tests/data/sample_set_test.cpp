#include "data/sample_set.hpp"

#include <gtest/gtest.h>

#include "base/machine.hpp"
#include "formats/npy.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

TEST(VisitRows, BlocksCoverTheRowsAndLeaveMemory) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "NOT TESTED: the thread sanitizer keeps memory of its own for each page";
#endif
  const test::TempDir dir;
  constexpr std::size_t kRows = 4096, kCols = 1024;  // 16 MB
  write_npy(dir / "x.npy", Matrix<float>(kRows, kCols, 0.5f).view());
  Dataset data;
  data.features = read_npy_float({dir / "x.npy", ""});
  std::vector<std::int32_t> rows, seen;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(kRows); r += 2) rows.push_back(r);
  const std::uint64_t before = resident_memory();
  std::uint64_t most = 0;
  double sum = 0;
  visit_row_blocks(data, rows, 100, [&](std::size_t first, std::span<const std::int32_t> block) {
    EXPECT_EQ(first, seen.size());
    seen.insert(seen.end(), block.begin(), block.end());
    for (const auto r : block)
      for (const float v : data.features.row(static_cast<std::size_t>(r))) sum += static_cast<double>(v);
    most = std::max(most, resident_memory());
  });
  EXPECT_EQ(seen, rows);
  EXPECT_EQ(sum, 0.5 * static_cast<double>(rows.size() * kCols));
  EXPECT_LT(most, before + (8u << 20));
}

}  // namespace
}  // namespace parsnets
