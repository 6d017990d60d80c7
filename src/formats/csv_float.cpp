// The numeric matrix of a CSV file: one quick pass counts the lines, a second fills the matrix.

#include <fmt/format.h>

#include "base/file.hpp"
#include "formats/csv.hpp"
#include "formats/csv_lines.hpp"
#include "formats/load_progress.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

Matrix<float> read_csv_float(const std::filesystem::path& path, ProgressObserver* observer) {
  InputFile file(path);
  LoadProgress progress(observer, path, 2 * file.size());  // two passes
  std::size_t lines = 0, number = 0;                       // lines: up to the last one that is not blank
  FirstLine first;
  std::string_view line;
  const auto read = [&](void* destination, std::size_t bytes) {
    const std::size_t got = file.read_some(destination, bytes);
    progress.advance(got);
    return got;
  };
  {
    LineReader reader(read);
    while (reader.next(line)) {
      if (number == 0) first = look_at_first_line(line, file.name());
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
  file.seek(0);
  LineReader reader(read);
  for (number = 1; number <= lines && reader.next(line); ++number) {
    if (number <= skipped) continue;
    const std::size_t r = number - skipped - 1;
    if (r >= rows) break;
    fill_row(line, result.row(r).data(), first.cells, file.name(), number);
  }
  if (number != lines + 1)
    throw Error(BadInput{file.name(), "", "a file that does not change while it is read",
                         "fewer lines on the second pass", "read it again"});
  return result;
}

}  // namespace parsnets
