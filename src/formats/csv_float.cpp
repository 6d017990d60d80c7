// The numeric matrix of a CSV file: one quick pass counts the lines, a second fills the matrix. The text never is in
// memory as a whole.

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/file.hpp"
#include "formats/csv.hpp"
#include "formats/line_reader.hpp"
#include "formats/load_progress.hpp"
#include "formats/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

[[noreturn]] void fail(const InputFile& file, std::size_t line, const std::string& field, const std::string& expected,
                       const std::string& found, const std::string& advice) {
  throw Error(BadInput{fmt::format("{}:{}", file.name(), line), field, expected, found, advice});
}

// Cuts the next cell off `rest`; returns false when there is none left. `more` says whether a comma follows, so that a
// comma at the end of the line makes a last, empty cell. Quotes are taken off; `broken` is set when they do not match.
struct CellCutter {
  std::string_view rest;
  bool more = true, broken = false;

  bool next(std::string_view& cell) {
    if (!more) return false;
    std::size_t end = 0;
    if (rest.starts_with('"')) {
      std::size_t close = rest.find('"', 1);
      while (close != std::string_view::npos && rest.substr(close + 1, 1) == "\"") close = rest.find('"', close + 2);
      broken = close == std::string_view::npos || (close + 1 < rest.size() && rest[close + 1] != ',');
      if (broken) {
        cell = rest;
        more = false;
        return true;
      }
      cell = rest.substr(1, close - 1);
      end = close + 1;
    } else {
      const void* comma = std::memchr(rest.data(), ',', rest.size());
      end = comma != nullptr ? static_cast<std::size_t>(static_cast<const char*>(comma) - rest.data()) : rest.size();
      cell = rest.substr(0, end);
    }
    more = end < rest.size();
    rest.remove_prefix(more ? end + 1 : end);
    return true;
  }
};

struct FirstLine {
  bool is_header = false;
  std::size_t cells = 0;
};

// A header holds names only; a line that mixes names and numbers is neither a header nor data, and dropping it
// silently could lose a sample.
FirstLine look_at_first_line(std::string_view line, const InputFile& file) {
  FirstLine first;
  CellCutter cutter{line};
  std::string_view cell;
  std::string name, number;
  while (cutter.next(cell)) {
    ++first.cells;
    double value = 0;
    if (parse_number(cell, value)) {
      if (!std::isnan(value)) number = cell;
    } else if (name.empty()) {
      name = cell;
    }
  }
  if (!name.empty() && !number.empty())
    fail(file, 1, "", "numbers only, or column names only",
         fmt::format("{} and {}", in_quotes(name), in_quotes(number)),
         "correct the line (decimal points, no units, no row names)");
  first.is_header = !name.empty();
  return first;
}

std::size_t fill_row(std::string_view line, float* row, std::size_t width, const InputFile& file, std::size_t number) {
  CellCutter cutter{line};
  std::string_view cell;
  std::size_t cells = 0;
  for (; cutter.next(cell); ++cells) {
    if (cells >= width) continue;  // counted for the message
    double value = 0;
    const bool is_number = !cutter.broken && parse_number(cell, value);
    row[cells] = static_cast<float>(value);
    if (!is_number || std::isinf(row[cells]))
      fail(file, number, fmt::format("column {}", cells + 1),
           is_number ? "a number within the range of float32" : "a finite number, an empty cell or nan",
           in_quotes(cell), "use decimal points and no units, separators or infinities");
  }
  return cells;
}

}  // namespace

Matrix<float> read_csv_float(const std::filesystem::path& path, ProgressObserver* observer) {
  InputFile file(path);
  LoadProgress progress(observer, path, 2 * file.size());  // two passes
  std::size_t lines = 0, number = 0;                       // lines: up to the last one that is not blank
  FirstLine first;
  std::string_view line;
  {
    LineReader reader(file, &progress);
    while (reader.next(line)) {
      if (number == 0) first = look_at_first_line(line, file);
      ++number;
      if (!line.empty()) lines = number;
    }
  }
  const std::size_t skipped = first.is_header ? 1 : 0;
  if (lines <= skipped)
    throw Error(BadInput{file.name(), "", "rows of comma-separated numbers",
                         first.is_header ? "only a header" : "blank lines only", "write it again"});
  // Every complete row takes at least one byte per cell: a longer matrix than that has a short row, which is reported
  // before the end of this one is reached.
  const std::size_t rows = std::min<std::size_t>(lines - skipped, (file.size() + 1) / first.cells + 1);
  Matrix<float> result(rows, first.cells);
  LineReader reader(file, &progress);
  for (number = 1; number <= lines && reader.next(line); ++number) {
    if (number <= skipped) continue;
    const std::size_t r = number - skipped - 1;
    if (r >= rows) break;
    const std::size_t cells = fill_row(line, result.row(r).data(), first.cells, file, number);
    if (cells != first.cells)
      fail(file, number, "", fmt::format("{} cells, as in the first line", first.cells), fmt::format("{} cells", cells),
           "fill in or remove cells");
  }
  if (number != lines + 1)
    throw Error(BadInput{file.name(), "", "a file that does not change while it is read",
                         "fewer lines on the second pass", "read it again"});
  return result;
}

}  // namespace parsnets
