// Tables of text, matrices of numbers, and the writers. By hand, because Debian packages no CSV reader for C++ that
// checks as strictly and is independent of the locale.
#include "formats/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <locale>
#include <sstream>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

[[noreturn]] void fail(const std::string& file, std::size_t line, const std::string& field, const std::string& expected,
                       const std::string& found, const std::string& advice) {
  throw Error(BadInput{fmt::format("{}:{}", file, line), field, expected, found, advice});
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMostColumns = 1u << 15;   // names take more memory than the two bytes of a short one
constexpr std::size_t kLongestLine = 16u << 20;  // of numbers: a million features

/// Cuts a table into cells.
class CsvParser {
 public:
  CsvParser(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
  }

  struct Cell {
    std::string_view content;  ///< in the text, or until the next one
    std::size_t line = 0;
    bool ends_row = false;
    bool bare = false;  ///< nothing at all, not even quotes
  };

  /// False at the end. The content is not looked at again.
  bool next(Cell& cell) {
    if (position_ >= text_.size() && !after_comma_) return false;
    cell.line = line_;
    const std::size_t start = position_;
    cell.content = text_.substr(position_, 1) == "\"" ? quoted_content() : plain_content();
    cell.bare = position_ == start;
    after_comma_ = text_.substr(position_, 1) == ",";
    cell.ends_row = !after_comma_;
    if (after_comma_)
      ++position_;
    else
      end_line();
    return true;
  }

  void check_text() const {
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
      fail(file_, 1, "", "UTF-8 text", "UTF-16", "save the file as UTF-8");
    std::size_t line = 1;
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t start = i;
      const auto point = next_code_point(text_, i);
      if (!point || *point == 0)
        fail(file_, line, "", "UTF-8 text", in_quotes(text_.substr(start, 1)), "save the file as UTF-8 text");
      line += *point == '\n' ? 1 : 0;
    }
  }

 private:
  std::string_view plain_content() {
    const std::size_t begin = position_;
    position_ = std::min(text_.find_first_of(",\r\n\"", begin), text_.size());
    if (text_.substr(position_, 1) == "\"")
      fail(file_, line_, "", "quotes around a whole cell",
           "a quote inside " + in_quotes(text_.substr(begin, position_ - begin)),
           "put the cell in quotes and double the quotes inside it");
    return text_.substr(begin, position_ - begin);
  }

  std::string_view quoted_content() {
    const std::size_t first_line = line_, begin = position_ + 1;
    bool doubled = false;
    for (++position_;; ++position_) {
      if (position_ >= text_.size())
        fail(file_, first_line, "", "a closing quote", "the end of the file", "close the quote");
      const char c = text_[position_];
      if (c == '"') {
        if (text_.substr(position_ + 1, 1) != "\"") break;
        ++position_;
        doubled = true;
      }
      line_ += c == '\n' ? 1 : 0;
    }
    const std::string_view content = text_.substr(begin, position_ - begin);
    ++position_;
    if (position_ < text_.size() && std::string_view(",\r\n").find(text_[position_]) == std::string_view::npos)
      fail(file_, line_, "", "a comma or the end of the line after a closing quote",
           in_quotes(text_.substr(position_, 1)), "double the quotes inside a quoted cell");
    if (!doubled) return content;
    single_.clear();
    for (std::size_t i = 0; i < content.size(); ++i) {
      single_ += content[i];
      if (content[i] == '"') ++i;
    }
    return single_;
  }

  void end_line() {
    if (position_ < text_.size() && text_[position_] == '\r') {
      if (text_.substr(position_, 2) != "\r\n")
        fail(file_, line_, "", "lines that end in LF or CRLF", "a lone carriage return", "convert the line ends");
      ++position_;
    }
    ++position_;
    ++line_;
  }

  std::string_view text_;
  std::string file_, single_;
  std::size_t position_ = 0, line_ = 1;
  bool after_comma_ = false;
};

/// Every cell of a table with the line where it begins. Returns the number of columns. Throws bad_input for ragged rows
/// and blank lines between them.
template <class Take>
std::size_t visit_cells(std::string_view text, const std::string& file, const Take& take) {
  CsvParser parser(text, file);
  parser.check_text();
  std::size_t width = 0, column = 0, first_blank = 0, blanks = 0;
  bool semicolon = false;
  CsvParser::Cell cell;
  while (parser.next(cell)) {
    if (column == 0 && cell.ends_row && cell.bare) {  // no row when it is one of the last lines; else an empty cell
      if (blanks++ == 0) first_blank = cell.line;
      continue;
    }
    if (blanks > 0 && width != 1)
      fail(file, first_blank, "", width == 0 ? "a table that starts in the first line" : fmt::format("{} cells", width),
           "a blank line", "remove the blank line");
    for (; blanks > 0; --blanks) take(std::string_view(), cell.line - blanks, false);
    if (width == 0 && column == 0) semicolon = cell.content.find(';') != std::string_view::npos;
    if (width == 0 || column < width) take(cell.content, cell.line, width == 0);
    ++column;
    if (!cell.ends_row) continue;
    if (width == 0) width = column;
    if (column != width)
      fail(file, cell.line, "", fmt::format("{} cell{}, as in the first row", width, width == 1 ? "" : "s"),
           fmt::format("{} cell{}", column, column == 1 ? "" : "s"),
           width == 1 && semicolon ? "separate cells by commas, not by semicolons"
                                   : "fill in or remove cells; quote cells that contain a comma");
    column = 0;
  }
  if (width == 0)
    throw Error(BadInput{file, "", "a table of comma-separated cells", "blank lines only", "write it again"});
  return width;
}

void check_header(const std::vector<std::string>& names, const std::string& file) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    fail(file, 1, "column " + in_quotes(*twice), "unique column names", "a duplicate", "rename one of them");
}

void check_width(std::size_t columns, const std::string& file) {
  if (columns > kMostColumns)
    fail(file, 1, "", fmt::format("at most {} columns", kMostColumns), "more of them", "leave some out");
}

void write_if_long(AtomicFile& out, std::string& lines) {
  if (lines.size() <= (1u << 20)) return;
  out.write(lines);
  lines.clear();
}

void append_row(std::string& out, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_cell(cells[i]);
  }
  // A lone empty cell would look like a blank line.
  if (cells.size() == 1 && cells[0].empty()) out += "\"\"";
  out += '\n';
}

/// Cuts the next cell off `rest`; returns false when there is none left. `more` says whether a comma follows, so that
/// a comma at the end of the line makes a last, empty cell. Quotes are taken off; `broken` is set when they do not
/// match.
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

/// A header holds names only; a line that mixes names and numbers is neither a header nor data, and dropping it
/// silently could lose a sample: throws bad_input. `file` names the table.
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

enum class Cells { may_be_missing, finite };

/// The numbers of a line into `row`, `width` of them. Throws bad_input naming line and column for what is not a
/// number, and for another number of cells.
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

/// The first line, and how many lines there are up to the last one that is not blank.
std::pair<FirstLine, std::size_t> count_lines(const ReadBytes& read, const std::string& name) {
  FirstLine first;
  std::size_t number = 0, lines = 0;
  std::string_view line;
  LineReader reader(name, read);
  while (reader.next(line)) {
    if (number == 0) first = look_at_first_line(line, name);
    ++number;
    if (!line.empty()) lines = number;
  }
  if (lines <= (first.is_header ? 1u : 0u))
    throw Error(BadInput{name, "", "rows of comma-separated numbers",
                         first.is_header ? "only a header" : "blank lines only", "write it again"});
  return {first, lines};
}

}  // namespace

std::vector<std::string> parse_list(std::string_view text, const std::string& option) {
  if (text.empty()) return {};
  try {
    CsvParser parser(text, option);
    std::vector<std::string> names;
    CsvParser::Cell cell;
    do {
      if (!parser.next(cell)) throw Error(ErrorCode::usage, option);
      names.emplace_back(cell.content);
    } while (!cell.ends_row);
    if (parser.next(cell)) throw Error(ErrorCode::usage, option);
    if (names.back().empty()) names.pop_back();  // a comma at the end
    return names;
  } catch (const Error&) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: expected names separated by commas, in quotes where a name has a comma or a quote "
                            "(\"a, b\",c), found {}",
                            option, in_quotes(text)));
  }
}

CsvCells parse_csv(std::string text, const std::string& name, bool has_header) {
  CsvCells table;
  std::size_t end = 0;
  // What was cut off goes to the front of the text, where nothing is looked for any more: there is no second copy.
  table.cols_ = visit_cells(text, name, [&](std::string_view content, std::size_t line, bool first) {
    if (first && has_header) {
      table.header.emplace_back(content);
      check_width(table.header.size(), name);
      return;
    }
    if (table.cells_++ % CsvCells::kMarked == 0)
      table.marks_.push_back({static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(line)});
    if (!content.empty()) std::memmove(text.data() + end, content.data(), content.size());
    end += content.size();
    text[end++] = '\0';
  });
  if (has_header) check_header(table.header, name);
  text.resize(end);
  table.text_ = std::move(text);
  return table;
}

std::string_view CsvCells::cell(std::size_t r, std::size_t c) const {
  const std::size_t i = r * cols_ + c;
  std::size_t begin = marks_[i / kMarked].offset;
  for (std::size_t left = i % kMarked; left > 0; --left) begin = text_.find('\0', begin) + 1;
  return std::string_view(text_).substr(begin, text_.find('\0', begin) - begin);
}

std::size_t CsvCells::line(std::size_t r) const {
  const std::size_t first = r * cols_ / kMarked * kMarked;
  std::size_t line = marks_[first / kMarked].line;
  for (std::size_t i = first; i < r * cols_; ++i) {
    const auto content = cell(i / cols_, i % cols_);
    line += static_cast<std::size_t>(std::ranges::count(content, '\n')) + ((i + 1) % cols_ == 0 ? 1 : 0);
  }
  return line;
}

CsvCells read_csv(const std::filesystem::path& file, bool has_header) {
  return parse_csv(read_text_file(file), file.string(), has_header);
}

CsvShape csv_shape(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  std::vector<std::string> header;
  std::size_t cells = 0;
  const std::size_t width = visit_cells(text, file.string(), [&](std::string_view content, std::size_t, bool first) {
    cells += first ? 0 : 1;
    if (!first) return;
    header.emplace_back(content);
    check_width(header.size(), file.string());
  });
  check_header(header, file.string());
  return {cells / width, width};
}

bool parse_number(std::string_view cell, double& value) {
  const std::size_t first = cell.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  std::string_view digits = cell.substr(first, cell.find_last_not_of(" \t") - first + 1);
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') digits.remove_prefix(1);
  // from_chars would also take "inf", "nan(…)" and a second sign.
  if (digits.empty() || !((digits[0] >= '0' && digits[0] <= '9') || digits[0] == '.')) {
    value = std::numeric_limits<double>::quiet_NaN();
    const std::string word = in_lower_case(digits);
    return word == "nan" || word == "na";
  }
  double magnitude = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, magnitude);
  if (end != last || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {  // too large, or so small that it is 0: a stream tells which
    std::istringstream text{std::string(digits)};
    text.imbue(std::locale::classic());
    if (!(text >> magnitude)) return false;
  }
  if (!std::isfinite(magnitude)) return false;
  value = negative ? -magnitude : magnitude;
  return true;
}

std::string format_number(float value) {
  std::array<char, 64> text;
  if (std::isnan(value)) return "nan";
  const auto finish = [&](std::to_chars_result written) { return std::string(text.data(), written.ptr); };
  std::string shortest = finish(std::to_chars(text.data(), text.data() + text.size(), value));
  // Readers that go through double (ours, Python) round twice, which takes a few shortest texts to the neighbour
  // (7.038531e-26 is one); nine digits lie close enough to the value for that to be harmless.
  double parsed = 0;
  if (std::isinf(value) || (parse_number(shortest, parsed) && static_cast<float>(parsed) == value)) return shortest;
  return finish(std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 9));
}

void write_csv(const std::filesystem::path& file, const CsvTable& table) {
  const std::size_t width = !table.header.empty() ? table.header.size() : table.rows.empty() ? 0 : table.rows[0].size();
  for (const auto& row : table.rows)
    if (row.size() != width || width == 0)
      throw Error(ErrorCode::usage, fmt::format("cannot write {}: expected {} cells in every row, found {}",
                                                file.string(), width, row.size()));
  AtomicFile out(file);
  std::string lines;
  if (!table.header.empty()) append_row(lines, table.header);
  for (const auto& row : table.rows) {
    append_row(lines, row);
    write_if_long(out, lines);
  }
  out.write(lines);
  out.commit();
}

void write_csv(const std::filesystem::path& file, const RowBlocks<float>& values) {
  AtomicFile out(file);
  std::string lines;
  for_each_block(values, [&](std::size_t first, MatrixView<const float> block) {
    for (std::size_t r = 0; r < block.rows(); ++r) {
      for (std::size_t c = 0; c < block.cols(); ++c) {
        if (std::isinf(block(r, c)))
          throw Error(ErrorCode::failure,
                      fmt::format("cannot write {}: row {}, column {} is infinite, which readers of the "
                                  "table would reject",
                                  file.string(), first + r + 1, c + 1));
        if (c > 0) lines += ',';
        lines += format_number(block(r, c));
      }
      lines += '\n';
      write_if_long(out, lines);
    }
  });
  out.write(lines);
  out.commit();
}

LineReader::LineReader(std::string name, ReadBytes read)
    : name_(std::move(name)), read_(std::move(read)), buffer_(1u << 20) {
  while (end_ < 3 && fill()) {
  }
  if (end_ >= 3 && std::memcmp(buffer_.data(), kByteOrderMark.data(), 3) == 0) begin_ = 3;
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
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLongestLine)
      throw Error(BadInput{name_, "", fmt::format("lines of at most {} bytes", kLongestLine), "a longer one",
                           "write one row per sample"});
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t got = read_(buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  return got > 0;
}

CsvRowReader::CsvRowReader(std::string name, ReadBytes read) : name_(std::move(name)), lines_(name_, std::move(read)) {
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
      fail(name_, blank_, "", fmt::format("{} cells", width_), "a blank line", "remove it");
    take(line);
  }
  Matrix<float> block(rows, width_);
  std::ranges::copy(values, block.data());
  return block;
}

std::size_t count_csv_rows(const std::filesystem::path& path) {
  InputFile file(path);
  const auto read = [&](void* destination, std::size_t bytes) { return file.read_some(destination, bytes); };
  const auto [first, lines] = count_lines(read, file.name());
  return lines - (first.is_header ? 1 : 0);
}

// One quick pass counts the lines, a second fills the matrix.
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
  LineReader reader(file.name(), read);
  std::string_view line;
  std::size_t number = 1;
  for (; number <= lines && reader.next(line); ++number) {
    if (number <= skipped) continue;
    const std::size_t r = number - skipped - 1;
    if (r >= rows) break;
    fill_row(line, result.row(r).data(), first.cells, file.name(), number, Cells::may_be_missing);
    filled.add(r, 1);
  }
  if (number != lines + 1)
    throw Error(BadInput{file.name(), "", "a file that does not change while it is read",
                         "fewer lines on the second pass", "read it again"});
  return result;
}

}  // namespace parsnets
