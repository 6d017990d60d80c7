#include "formats/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

CsvRowReader::CsvRowReader(std::string name, ReadBytes read) : name_(std::move(name)), lines_(std::move(read)) {
  std::string_view line;
  if (!lines_.next(line))
    throw Error(BadInput{name_, "", "rows of comma-separated numbers", "nothing", "write one row per sample"});
  const FirstLine first = look_at_first_line(line, name_);
  width_ = first.cells;
  number_ = 1;
  if (!first.is_header) first_ = std::string(line);
}

Matrix<float> CsvRowReader::next(std::size_t count) {
  std::vector<float> values;
  std::size_t rows = 0;
  const auto take = [&](std::string_view line) {
    values.resize(values.size() + width_);
    fill_row(line, values.data() + rows * width_, width_, name_, number_, Cells::finite);
    ++rows;
  };
  if (first_) take(*first_);
  first_.reset();
  std::string_view line;
  while (rows < count && lines_.next(line)) {
    ++number_;
    if (line.empty()) {
      if (blank_ == 0) blank_ = number_;
      continue;
    }
    if (blank_ > 0)  // blank lines are for the end
      throw Error(BadInput{fmt::format("{}:{}", name_, blank_), "", fmt::format("{} cells", width_), "a blank line",
                           "remove it"});
    take(line);
  }
  Matrix<float> block(rows, width_);
  std::ranges::copy(values, block.data());
  return block;
}

namespace {

constexpr std::size_t kPiece = 1u << 20;

[[noreturn]] void fail(const std::string& file, std::size_t line, const std::string& field, const std::string& expected,
                       const std::string& found, const std::string& advice) {
  throw Error(BadInput{fmt::format("{}:{}", file, line), field, expected, found, advice});
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

}  // namespace

LineReader::LineReader(ReadBytes read) : read_(std::move(read)), buffer_(kPiece) {
  while (end_ < 3 && fill()) {
  }
  if (end_ >= 3 && std::memcmp(buffer_.data(), "\xef\xbb\xbf", 3) == 0) begin_ = 3;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = begin_;
  const char* found = nullptr;
  for (;;) {
    found = static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
    if (found != nullptr) break;
    const std::size_t length = end_ - begin_;
    if (!fill()) break;
    searched = begin_ + length;
  }
  if (found == nullptr && begin_ == end_) return false;
  const std::size_t stop = found != nullptr ? static_cast<std::size_t>(found - buffer_.data()) : end_;
  line = std::string_view(buffer_.data() + begin_, stop - begin_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  begin_ = found != nullptr ? stop + 1 : end_;
  return true;
}

// Moves the unfinished line to the front and reads on behind it; false when nothing more came.
bool LineReader::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t got = read_(buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  return got > 0;
}

FirstLine look_at_first_line(std::string_view line, const std::string& file) {
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

void fill_row(std::string_view line, float* row, std::size_t width, const std::string& file, std::size_t number,
              Cells kind) {
  CellCutter cutter{line};
  std::string_view cell;
  std::size_t cells = 0;
  for (; cutter.next(cell); ++cells) {
    if (cells >= width) continue;  // counted for the message
    double value = 0;
    const bool is_number = !cutter.broken && parse_number(cell, value);
    row[cells] = static_cast<float>(value);
    if (is_number && std::isnan(row[cells]) && kind == Cells::finite)
      fail(file, number, fmt::format("column {}", cells + 1), "a finite number", in_quotes(cell),
           "remove the row or correct the value");
    if (!is_number || std::isinf(row[cells]))
      fail(file, number, fmt::format("column {}", cells + 1),
           is_number               ? "a number within the range of float32"
           : kind == Cells::finite ? "a finite number"
                                   : "a finite number, an empty cell or nan",
           in_quotes(cell), "use decimal points and no units, separators or infinities");
  }
  if (cells != width)
    fail(file, number, "", fmt::format("{} cells, as in the first line", width), fmt::format("{} cells", cells),
         "fill in or remove cells");
}

// The numeric matrix of a CSV file: one quick pass counts the lines, a second fills the matrix.

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
