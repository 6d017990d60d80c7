#pragma once
// Comma-separated tables (RFC 4180: quotes, doubled quotes, CRLF, a UTF-8 byte-order mark).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_blocks.hpp"
#include "base/scratch_file.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

/// To be written.
struct CsvTable {
  std::vector<std::string> header;             ///< empty: none
  std::vector<std::vector<std::string>> rows;  ///< every row has the same number of cells
};

/// A table of text that was read: the text itself without quotes, and the places of some cells.
class CsvCells {
 public:
  std::vector<std::string> header;  ///< empty when the file has none

  std::size_t rows() const { return cells_ / cols_; }
  std::size_t cols() const { return cols_; }
  std::string_view cell(std::size_t r, std::size_t c) const;
  /// Where row r begins, counted from 1.
  std::size_t line(std::size_t r) const;

 private:
  friend CsvCells parse_csv(std::string text, const std::string& name, bool has_header);
  struct Mark {
    std::uint32_t offset, line;
  };
  static constexpr std::size_t kMarked = 16;  ///< one cell of so many has a mark

  std::string text_;  ///< the cells, each with a NUL behind it
  std::vector<Mark> marks_;
  std::size_t cells_ = 0, cols_ = 1;
};

/// Reads a table of text (attributes, labels). Throws bad_input with file:line for ragged rows, stray quotes,
/// bytes that are not UTF-8, NUL bytes, repeated column names, headers of more than 32,768 columns. Blank lines at the
/// end are ignored.
CsvCells read_csv(const std::filesystem::path& file, bool has_header);
/// The same of a text; `name` is for messages.
CsvCells parse_csv(std::string text, const std::string& name, bool has_header);

/// Rows below the header, and columns.
struct CsvShape {
  std::size_t rows = 0, cols = 0;
};

/// Of a table with a header, which is checked as by read_csv; the cells are not kept.
CsvShape csv_shape(const std::filesystem::path& file);

/// The cells of one line of CSV, as given to an option such as --names: names separated by commas, in quotes where they
/// have a comma or a quote themselves (doubled inside). Throws usage naming `option`.
std::vector<std::string> parse_list(std::string_view text, const std::string& option);

/// Reads a purely numeric matrix, n x d, in two streaming passes (count, fill); each value is parsed as a double and
/// rounded to float. A first line without a number is a header and skipped. Empty cells, "nan" and "na" read as NaN.
/// Throws bad_input with file:line and column for anything else, infinities included.
Matrix<float> read_csv_float(const std::filesystem::path& file, ProgressObserver* progress = nullptr,
                             const MatrixPlace& place = {});
/// n of that matrix: one pass over the lines.
std::size_t count_csv_rows(const std::filesystem::path& file);

// Numeric tables line by line and in rows, some at a time. Text is read in pieces of about 1 MB, so that it never is in
// memory as a whole.

/// Reads at most so many bytes; returns how many, 0 at the end.
using ReadBytes = std::function<std::size_t(void*, std::size_t)>;

/// Hands out lines one after the other, without their line ends.
class LineReader {
 public:
  /// `name` is for messages.
  LineReader(std::string name, ReadBytes read);
  /// False at the end. The view is valid until the next call. A last line without a line end counts. Throws bad_input
  /// for lines of more than 16 MB.
  bool next(std::string_view& line);

 private:
  bool fill();

  std::string name_;
  ReadBytes read_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

/// Memory does not grow with the number of rows. The rules are those of read_csv_float, except that every cell must be
/// a number. Not thread-safe.
class CsvRowReader {
 public:
  /// `name` is for messages. Reads the first line. Throws bad_input.
  CsvRowReader(std::string name, ReadBytes read);

  std::size_t cols() const { return width_; }
  /// The next `count` rows, or as many as there are: at most count x cols. Throws bad_input naming the line.
  Matrix<float> next(std::size_t count);

 private:
  std::string name_;
  LineReader lines_;
  std::optional<std::string> first_;  ///< a first line of numbers, until it is handed out
  std::size_t width_ = 0, number_ = 0;
  std::size_t blank_ = 0;  ///< number of the first blank line since the last row; 0: none
};

/// Parses one cell (blanks around it are ignored); NaN for an empty cell, "nan" or "na". Returns false when it is not
/// a finite decimal number. Independent of the locale.
bool parse_number(std::string_view cell, double& value);

/// Writes atomically; quotes where needed; numbers with the fewest digits that read back to the same float.
void write_csv(const std::filesystem::path& file, const CsvTable& table);
/// Throws Error(failure) for an infinite value.
void write_csv(const std::filesystem::path& file, const RowBlocks<float>& values);
inline void write_csv(const std::filesystem::path& file, MatrixView<const float> values) {
  write_csv(file, blocks_of(values));
}
/// Shortest text that reads back to the same float, also through double; "nan" for NaN.
std::string format_number(float value);

}  // namespace parsnets
