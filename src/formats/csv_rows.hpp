#pragma once
// Numeric CSV tables line by line and in rows, some at a time. Text is read in pieces of about 1 MB, so that it never
// is in memory as a whole.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// Reads at most so many bytes; returns how many, 0 at the end.
using ReadBytes = std::function<std::size_t(void*, std::size_t)>;

/// Hands out lines one after the other, without their line ends.
class LineReader {
 public:
  explicit LineReader(ReadBytes read);
  /// False at the end. The view is valid until the next call. A last line without a line end counts.
  bool next(std::string_view& line);

 private:
  bool fill();

  ReadBytes read_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

struct FirstLine {
  bool is_header = false;
  std::size_t cells = 0;
};

/// A header holds names only; a line that mixes names and numbers is neither a header nor data, and dropping it
/// silently could lose a sample: throws bad_input. `file` names the table.
FirstLine look_at_first_line(std::string_view line, const std::string& file);

/// Whether a cell may be empty or "nan".
enum class Cells { may_be_missing, finite };

/// The numbers of a line into `row`, `width` of them. Throws bad_input naming line and column for what is not a number,
/// and for another number of cells.
void fill_row(std::string_view line, float* row, std::size_t width, const std::string& file, std::size_t number,
              Cells cells = Cells::may_be_missing);

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

}  // namespace parsnets
