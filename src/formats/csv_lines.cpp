#include "formats/csv_lines.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "formats/csv.hpp"
#include "formats/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

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

}  // namespace parsnets
