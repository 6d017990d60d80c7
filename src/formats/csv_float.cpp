// The numeric matrix of a CSV file: one quick pass counts the lines, a second fills the matrix.

#include <fmt/format.h>

#include "base/file.hpp"
#include "formats/csv.hpp"
#include "formats/csv_lines.hpp"
#include "formats/load_progress.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

struct LineCount {
  FirstLine first;
  std::size_t lines = 0;  ///< up to the last one that is not blank
};

LineCount count_lines(const ReadBytes& read, const std::string& name) {
  LineCount count;
  std::size_t number = 0;
  std::string_view line;
  LineReader reader(read);
  while (reader.next(line)) {
    if (number == 0) count.first = look_at_first_line(line, name);
    ++number;
    if (!line.empty()) count.lines = number;
  }
  if (count.lines <= (count.first.is_header ? 1u : 0u))
    throw Error(BadInput{name, "", "rows of comma-separated numbers",
                         count.first.is_header ? "only a header" : "blank lines only", "write it again"});
  return count;
}

}  // namespace

std::size_t count_csv_rows(const std::filesystem::path& path) {
  InputFile file(path);
  const auto count = count_lines(
      [&](void* destination, std::size_t bytes) { return file.read_some(destination, bytes); }, file.name());
  return count.lines - (count.first.is_header ? 1 : 0);
}

Matrix<float> read_csv_float(const std::filesystem::path& path, ProgressObserver* observer, const MatrixPlace& place) {
  InputFile file(path);
  LoadProgress progress(observer, path, 2 * file.size());  // two passes
  const auto read = [&](void* destination, std::size_t bytes) {
    const std::size_t got = file.read_some(destination, bytes);
    progress.advance(got);
    return got;
  };
  const auto [first, lines] = count_lines(read, file.name());
  const std::size_t skipped = first.is_header ? 1 : 0;
  // Every complete row takes at least one byte per cell: a longer matrix than that has a short row, which is reported
  // before the end of this one is reached.
  const std::size_t rows = std::min<std::size_t>(lines - skipped, (file.size() + 1) / first.cells + 1);
  Matrix<float> result = new_matrix(rows, first.cells, place, "the values of " + file.name());
  UsedRows filled(result);
  file.seek(0);
  LineReader reader(read);
  std::string_view line;
  std::size_t number = 1;
  for (; number <= lines && reader.next(line); ++number) {
    if (number <= skipped) continue;
    const std::size_t r = number - skipped - 1;
    if (r >= rows) break;
    fill_row(line, result.row(r).data(), first.cells, file.name(), number);
    filled.add(r, 1);
  }
  if (number != lines + 1)
    throw Error(BadInput{file.name(), "", "a file that does not change while it is read",
                         "fewer lines on the second pass", "read it again"});
  return result;
}

}  // namespace parsnets
