#include "formats/csv_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Hands out `text` a few bytes at a time, as a pipe may.
ReadBytes pieces_of(std::string text, std::size_t piece) {
  return [text, piece, place = std::size_t{0}](void* destination, std::size_t bytes) mutable {
    const std::size_t count = std::min({piece, bytes, text.size() - place});
    std::memcpy(destination, text.data() + place, count);
    place += count;
    return count;
  };
}

std::string refusal(const std::string& text) {
  try {
    CsvRowReader reader("table", pieces_of(text, 7));
    while (reader.next(2).rows() > 0) {
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

TEST(CsvRows, RowsComeInBatchesWhateverThePieces) {
  const std::string text =
      "\xef\xbb\xbf"
      "a,b\r\n1,2\r\n3,4\n\"5\",6e0\n7,8\n9,-10\n\n\n";
  for (const std::size_t piece : {1, 2, 3, 100}) {
    CsvRowReader reader("table", pieces_of(text, piece));
    EXPECT_EQ(reader.cols(), 2u);
    std::vector<std::size_t> batches;
    std::vector<float> values;
    for (;;) {
      const Matrix<float> block = reader.next(2);
      if (block.rows() == 0) break;
      batches.push_back(block.rows());
      values.insert(values.end(), block.values().begin(), block.values().end());
    }
    EXPECT_EQ(batches, (std::vector<std::size_t>{2, 2, 1}));
    EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, -10}));
  }
}

TEST(CsvRows, WithoutAHeaderTheFirstLineIsARow) {
  CsvRowReader reader("table", pieces_of("1,2\n3,4", 5));
  EXPECT_EQ(reader.next(1)(0, 1), 2);
  EXPECT_EQ(reader.next(9)(0, 0), 3);
  EXPECT_EQ(reader.next(9).rows(), 0u);
}

TEST(CsvRows, BadRowsAreNamedByTheirLine) {
  EXPECT_NE(refusal("a,b\n1,2\n3,x\n").find("table:3: column 2: expected a finite number, found 'x'"),
            std::string::npos);
  EXPECT_NE(refusal("1,2\n3\n").find("table:2: expected 2 cells, as in the first line, found 1 cells"),
            std::string::npos);
  for (const char* text : {"1,2\n3,\n", "1,2\n3,nan\n", "1,2\n3,1e99\n"})
    EXPECT_NE(refusal(text).find("table:2: column 2: expected a"), std::string::npos) << refusal(text);
  EXPECT_NE(refusal("1,2\n\n3,4\n").find("table:2: expected 2 cells, found a blank line"), std::string::npos);
  EXPECT_NE(refusal("").find("found nothing"), std::string::npos);
  EXPECT_NE(refusal("name,3\n").find("table:1"), std::string::npos);
}

}  // namespace

}  // namespace parsnets
