#include "base/row_blocks.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/scratch_file.hpp"

namespace parsnets {
namespace {

TEST(RowBlocks, EveryRowComesOnceAndInOrder) {
  for (const bool on_disk : {false, true}) {
    Matrix<float> values = new_matrix(10'000, 1000, {on_disk ? 1u : 0u, 0}, "values");  // 40 MB: three blocks
    std::iota(values.values().begin(), values.values().end(), 0.0f);
    std::size_t next = 0, blocks = 0;
    for_each_block(blocks_of(values), [&](std::size_t first, MatrixView<const float> block) {
      ASSERT_EQ(first, next);
      EXPECT_LE(block.size() * sizeof(float), kBlockBytes);
      for (std::size_t r = 0; r < block.rows(); ++r, ++next) ASSERT_EQ(block(r, 1), values(next, 1));
      ++blocks;
    });
    EXPECT_EQ(next, 10'000u);
    EXPECT_EQ(blocks, 3u);
  }
}

TEST(RowBlocks, ChosenRowsComeInTheirOrder) {
  const std::size_t rows = 1000, cols = 3000;
  Matrix<float> values = new_matrix(rows, cols, {1, 0}, "values");
  for (std::size_t r = 0; r < rows; ++r) values(r, 2) = static_cast<float>(r);
  const std::vector<std::int32_t> chosen{999, 3, 3, 500, 0};
  const auto blocks = blocks_of(values, chosen);
  ASSERT_EQ(blocks.rows, 5u);
  const auto some = blocks.block(1, 3);
  EXPECT_EQ((std::vector{some(0, 2), some(1, 2), some(2, 2)}), (std::vector{3.0f, 3.0f, 500.0f}));
  EXPECT_EQ(blocks_of(values, 10, 20).block(5, 2)(1, 2), 16.0f);
}

}  // namespace
}  // namespace parsnets
