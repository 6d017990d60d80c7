#include "formats/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/file.hpp"
#include "base/rng.hpp"
#include "csv_table.hpp"
#include "formats/numpy_oracle.hpp"
#include "same_bytes.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

using test::AddressSpaceCap;
using test::error_message;
using test::TempDir;

class Csv : public ::testing::Test {
 protected:
  CsvTable table(std::string_view text, bool has_header = true) {
    test::write_bytes(dir_ / "t.csv", text);
    return test::table_of(read_csv(dir_ / "t.csv", has_header));
  }
  std::string table_refused(std::string_view text, bool has_header = true) {
    return error_message([&] { table(text, has_header); });
  }
  Matrix<float> numbers(std::string_view text) {
    test::write_bytes(dir_ / "n.csv", text);
    return read_csv_float(dir_ / "n.csv");
  }
  std::string numbers_refused(std::string_view text) {
    SCOPED_TRACE(text.substr(0, 40));
    return error_message([&] { numbers(text); });
  }
  TempDir dir_;
};

using Rows = std::vector<std::vector<std::string>>;

double parsed(std::string_view cell) {
  double value = 0;
  EXPECT_TRUE(parse_number(cell, value)) << cell;
  return value;
}

/// Hands out `text` a few bytes at a time, as a pipe may.
ReadBytes pieces_of(std::string text, std::size_t piece) {
  return [text, piece, place = std::size_t{0}](void* destination, std::size_t bytes) mutable {
    const std::size_t count = std::min({piece, bytes, text.size() - place});
    std::memcpy(destination, text.data() + place, count);
    place += count;
    return count;
  };
}

}  // namespace

TEST_F(Csv, ReadsQuotesLineEndsAndAByteOrderMark) {
  const CsvTable read = table(
      "\xef\xbb\xbf"
      "class,\"a,b\"\r\n\"say \"\"hi\"\"\",\"two\nlines\"\r\nplain, x \n\"\",");
  EXPECT_EQ(read.header, (std::vector<std::string>{"class", "a,b"}));
  EXPECT_EQ(read.rows, (Rows{{"say \"hi\"", "two\nlines"}, {"plain", " x "}, {"", ""}}));
  EXPECT_EQ(table("a\n1\n\n2\n\n\n").rows, (Rows{{"1"}, {""}, {"2"}}));
  EXPECT_TRUE(table("a,b\n").rows.empty());
  EXPECT_EQ(table("1,2\n1,2\n", false).rows.size(), 2u);
}

TEST_F(Csv, RefusesBrokenTablesWithTheirLine) {
  const std::vector<std::pair<std::string_view, const char*>> cases{
      {"a,b\n1,2\n1\n", "t.csv:3: expected 2 cells, as in the first row, found 1 cell"},
      {"a;b\n1,5;2\n", "expected 1 cell, as in the first row, found 2 cells; separate cells by commas"},
      {"a,b\n\"x\ny\",2\n1,2,3\n", "t.csv:4:"},
      {"a,b\n1,2\n\n1,2\n", "t.csv:3: expected 2 cells, found a blank line"},
      {"a,b\n1,x\"y\"\n", "t.csv:2: expected quotes around a whole cell"},
      {"a,b\n1,\"x\"y\n", "t.csv:2: expected a comma"},
      {"a,b\n1,\"x\n\n", "t.csv:2: expected a closing quote"},
      {"a,b\n1,\xff\n", "t.csv:2: expected UTF-8"},
      {{"a,b\n1,2\n1,\0\n", 12}, "t.csv:3: expected UTF-8"},
      {"a,b\r1,2\r", "t.csv:1: expected lines that end in LF or CRLF"},
      {"a,b,a\n1,2,3\n", "column 'a'"},
      {"\xff\xfe, b", "UTF-16"},
      {"\n\n", "blank lines only"},
      {"\na,b\n", "first line"},
      {"", "empty file"}};
  for (const auto& [text, message] : cases) EXPECT_MENTIONS(table_refused(text), message);
}

TEST_F(Csv, ListsOfNamesMayBeQuoted) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(parse_list("a,b c", "--names"), (Names{"a", "b c"}));
  EXPECT_EQ(parse_list("\"a, b\",c,\"say \"\"d\"\"\"", "--names"), (Names{"a, b", "c", "say \"d\""}));
  EXPECT_EQ(parse_list("a,", "--names"), Names{"a"});
  EXPECT_EQ(parse_list("", "--names"), Names{});
  for (const char* broken : {"\"a", "a\"b", "\"a\"b", "a\nb"})
    EXPECT_TRUE(test::error_message([&] { parse_list(broken, "--names"); }, ErrorCode::usage)
                    .starts_with("--names: expected names"))
        << broken;
}

TEST_F(Csv, TablesSurviveWritingAndReading) {
  const CsvTable original{{"class", "note, long", "q\"q"}, {{"a", "", "x\r\ny"}, {"\xef\xbb\xbf", " sp ", "\"\""}}};
  write_csv(dir_ / "t.csv", original);
  CsvTable read = test::table_of(read_csv(dir_ / "t.csv", true));
  EXPECT_EQ(read.header, original.header);
  EXPECT_EQ(read.rows, original.rows);
  const CsvTable column{{}, {{""}, {"x"}, {""}}};
  write_csv(dir_ / "t.csv", column);
  EXPECT_EQ(test::table_of(read_csv(dir_ / "t.csv", false)).rows, column.rows);
  EXPECT_THROW(write_csv(dir_ / "t.csv", CsvTable{{"a"}, {{"1", "2"}}}), Error);
  EXPECT_EQ(test::table_of(read_csv(dir_ / "t.csv", false)).rows, column.rows)
      << "a refused table must not touch the file";
}

TEST_F(Csv, ParsesNumbersAsNumpyDoesBitForBit) {
  PARSNETS_NEED_NUMPY();
  ASSERT_TRUE(test::run_oracle("npy_oracle.py", "csv", dir_.path().string()));
  std::size_t rows = 0, cols = 0;
  std::ifstream(dir_ / "shape.txt") >> rows >> cols;
  const Matrix<float> read = read_csv_float(dir_ / "numbers.csv");
  ASSERT_EQ(read.rows(), rows);
  ASSERT_EQ(read.cols(), cols);
  EXPECT_GT(rows, 10000u);
  const auto expected = test::read_raw<float>(dir_ / "numbers.f32");
  EXPECT_EQ(test::first_difference<float>(read.values(), expected), -1);
  const Matrix<float> on_disk = read_csv_float(dir_ / "numbers.csv", nullptr, {1, 0});
  EXPECT_TRUE(on_disk.is_mapped());
  EXPECT_EQ(test::first_difference<float>(on_disk.values(), expected), -1);
  EXPECT_EQ(count_csv_rows(dir_ / "numbers.csv"), rows);
}

TEST_F(Csv, TheShapeOfALargeTableIsThatOfASmallOne) {
  const std::string row = "\"a, b\nc\"\"\"," + std::string(100, 'x') + ",\n";
  for (const std::size_t rows : {10u, 200'000u}) {  // 22 MB
    std::string text = "one,\"tw,o\",three\n";
    for (std::size_t r = 0; r < rows; ++r) text += row;
    write_text_file(dir_ / "t.csv", text + "\n\n");
    const CsvShape shape = csv_shape(dir_ / "t.csv");
    EXPECT_EQ(shape.rows, rows);
    EXPECT_EQ(shape.cols, 3u);
  }
}

TEST_F(Csv, ParsesOneCell) {
  EXPECT_EQ(parsed(" -1.5e3\t"), -1500);
  EXPECT_EQ(parsed("+.5"), 0.5);
  EXPECT_TRUE(std::signbit(parsed("-1e-999")));
  EXPECT_EQ(parsed("0.0000000001e-99999999999999999999"), 0);
  for (const auto* missing : {"", "  ", "nan", "NaN", "NA", "na", "-nan"}) EXPECT_TRUE(std::isnan(parsed(missing)));
  double value = 0;
  for (const auto* bad : {"abc",    "1e",       "1e+",   "0x10",   "1,5",
                          "1.5.2",  "--1",      "+-1",   "1 2",    "inf",
                          "-inf",   "Infinity", "1e999", "-1e999", "1e99999999999999999999",
                          "nan(1)", "n",        ".",     "-",      "+",
                          "e5",     "1_000",    "1f",    "1d5",    "½",
                          "１",     "#N/A",     "null"})
    EXPECT_FALSE(parse_number(bad, value)) << bad;
}

TEST_F(Csv, ReadsMatricesWithAndWithoutAHeader) {
  const Matrix<float> read = numbers(
      "\xef\xbb\xbf"
      "\"x, 1\",y\r\n1,2\r\n\"3\",\r\n\r\n");
  ASSERT_EQ(read.rows(), 2u);
  ASSERT_EQ(read.cols(), 2u);
  EXPECT_EQ(read(0, 1), 2.0f);
  EXPECT_EQ(read(1, 0), 3.0f);
  EXPECT_TRUE(std::isnan(read(1, 1)));
  EXPECT_EQ(numbers("1,2\n3,4").rows(), 2u);
  EXPECT_EQ(numbers("nan,nan\n3,4").rows(), 2u) << "a row of missing values is no header";
  EXPECT_EQ(numbers("5").rows(), 1u);
  EXPECT_EQ(numbers("1\n\n3\n\n").rows(), 3u) << "in one column a blank line is a missing value";
}

TEST_F(Csv, RefusesWhatIsNotAFiniteNumberWithLineAndColumn) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"1,2\n3,x\n", "n.csv:2: column 2: expected a finite number"},
      {"1,1e39\n", "n.csv:1: column 2: expected a number within the range of float32"},
      {"1,2\n3,\"4\n", "n.csv:2: column 2:"},
      {"1,2\n3,\"4\"5\n", "n.csv:2: column 2:"},
      {"1,2\n1,2,3\n", "n.csv:2: expected 2 cells, as in the first line, found 3 cells"},
      {"a,b\n1\n", "n.csv:2: expected 2 cells"},
      {"1,2\n\n1,2\n", "n.csv:2: expected 2 cells"},
      {"1,2\n1,2,\n", "found 3 cells"},
      {"1,abc\n1,2\n", "n.csv:1: expected numbers only, or column names only"},
      {"inf,1\n1,2\n", "n.csv:1:"},
      {"a,b\n", "rows of comma-separated numbers"},
      {"\n\n", "blank lines only"},
      {"", "empty file"}};
  for (const auto& [text, message] : cases) EXPECT_MENTIONS(numbers_refused(text), message);
  for (const auto* bad : {"inf", "-Infinity", "0x10", "1e", "\"1,5\"", "1;5", "1e400", "1.2.3", "--2"})
    EXPECT_MENTIONS(numbers_refused(fmt::format("a,b\n1,2\n3,{}\n", bad)),
                    "n.csv:3: column 2: expected a finite number");
}

TEST_F(Csv, AWideFirstLineBeforeManyShortOnesAllocatesNoMoreThanTheFile) {
  const std::string wide = std::string(1 << 20, ',') + "\n";
  const std::string text = wide + std::string(1 << 20, '\n') + "1\n";
  const AddressSpaceCap cap(64 << 20);
  EXPECT_MENTIONS(numbers_refused(text), "n.csv:2: expected 1048577 cells");
}

TEST_F(Csv, FormatsTheFewestDigitsThatReadBack) {
  EXPECT_EQ(format_number(0.1f), "0.1");
  EXPECT_EQ(format_number(3.0f), "3");
  EXPECT_EQ(format_number(-0.0f), "-0");
  EXPECT_EQ(format_number(std::numeric_limits<float>::quiet_NaN()), "nan");
  Rng rng(3);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
    if (!std::isfinite(value)) continue;
    const std::string text = format_number(value);
    ASSERT_EQ(static_cast<float>(parsed(text)), value) << text;
    ASSERT_LE(text.size(), 15u) << text;
  }
  const float twice_rounded = 7.038531e-26f;
  EXPECT_EQ(static_cast<float>(parsed(format_number(twice_rounded))), twice_rounded);
}

TEST_F(Csv, InfinitiesAreNotWritten) {
  test::write_bytes(dir_ / "n.csv", "earlier");
  Matrix<float> values(2, 2, 1.0f);
  values(1, 0) = std::numeric_limits<float>::infinity();
  EXPECT_THROW(write_csv(dir_ / "n.csv", values.view()), Error);
  EXPECT_TRUE(test::same_bytes(test::read_bytes(dir_ / "n.csv"), "earlier"));
}

TEST_F(Csv, LinesAcrossPiecesAreReadWholeAndProgressIsTold) {
  std::string text;
  const std::size_t rows = 40, cols = 100'000;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) text += std::to_string((r * cols + c) % 997) + (c + 1 < cols ? "," : "\n");
  test::write_bytes(dir_ / "n.csv", text);
  test::ProgressRecorder recorder;
  const Matrix<float> read = read_csv_float(dir_ / "n.csv", &recorder);
  ASSERT_EQ(read.rows(), rows);
  for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read.data()[i], static_cast<float>(i % 997));
  recorder.expect_load("n.csv", recorder.total);
  for (const std::size_t after : {0u, 1u, 2u}) {
    test::ProgressRecorder cancelling(after);
    test::error_message([&] { read_csv_float(dir_ / "n.csv", &cancelling); }, ErrorCode::cancelled);
  }
}

TEST_F(Csv, DamagedFilesNeverCrash) {
  const std::string good = "class,a,\"b,c\"\nant,1.5,\"2\"\n\"ze\"\"bra\",,3e5\r\n";
  const std::string matrix = "a,b\n1.5,-2e-3\n\"7\",nan\r\n,0\n";
  const AddressSpaceCap cap(64 << 20);
  Rng rng(22);
  for (int trial = 0; trial < 4000; ++trial) {
    std::string bytes = trial % 2 == 0 ? good : matrix;
    for (std::uint64_t flips = 1 + rng.below(3); flips > 0; --flips)
      bytes[rng.below(bytes.size())] ^= static_cast<char>(1u << rng.below(8));
    bytes.resize(1 + rng.below(bytes.size()));
    try {
      if (trial % 2 == 0) {
        const CsvTable read = table(bytes);
        for (const auto& row : read.rows) EXPECT_EQ(row.size(), read.header.size());
      } else {
        const Matrix<float> read = numbers(bytes);
        for (const float v : read.values()) EXPECT_FALSE(std::isinf(v));
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
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
    for (Matrix<float> block = reader.next(2); block.rows() > 0; block = reader.next(2)) {
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
  const std::vector<std::pair<const char*, const char*>> cases{
      {"a,b\n1,2\n3,x\n", "table:3: column 2: expected a finite number, found 'x'"},
      {"1,2\n3\n", "table:2: expected 2 cells, as in the first line, found 1 cells"},
      {"1,2\n3,\n", "table:2: column 2: expected a"},
      {"1,2\n3,nan\n", "table:2: column 2: expected a"},
      {"1,2\n3,1e99\n", "table:2: column 2: expected a"},
      {"1,2\n\n3,4\n", "table:2: expected 2 cells, found a blank line"},
      {"", "found nothing"},
      {"name,3\n", "table:1"}};
  for (const auto& [text, message] : cases)
    EXPECT_MENTIONS(error_message([&] {
                      CsvRowReader reader("table", pieces_of(text, 7));
                      while (reader.next(2).rows() > 0) {
                      }
                    }),
                    message);
}

}  // namespace parsnets
