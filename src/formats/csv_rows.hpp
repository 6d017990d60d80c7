#pragma once
// The rows of a numeric CSV table in their order, some at a time.

#include <optional>
#include <string>

#include "formats/csv_lines.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets {

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
