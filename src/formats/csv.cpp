// Tables of text, the numbers in their cells, and the writers. The large numeric matrix is read by csv_float.cpp.
// By hand, because Debian packages no CSV reader for C++ that checks as strictly and is independent of the locale.

#include "formats/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class CsvParser {
 public:
  CsvParser(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
  }

  struct Row {
    std::vector<std::string> cells;
    std::size_t line = 0;
    bool blank = false;  // nothing at all between two line ends
  };

  std::optional<Row> next_row() {
    if (position_ >= text_.size()) return std::nullopt;
    Row row;
    row.line = line_;
    const std::size_t start = position_;
    for (;;) {
      row.cells.push_back(cell());
      if (position_ < text_.size() && text_[position_] == ',') {
        ++position_;
        continue;
      }
      row.blank = position_ == start;
      end_line();
      return row;
    }
  }

  [[noreturn]] void fail(std::size_t line, const std::string& field, const std::string& expected,
                         const std::string& found, const std::string& advice) const {
    throw Error(BadInput{fmt::format("{}:{}", file_, line), field, expected, found, advice});
  }

  void check_text() const {
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
      fail(1, "", "UTF-8 text", "UTF-16", "save the file as UTF-8");
    std::size_t line = 1;
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t start = i;
      const auto point = next_code_point(text_, i);
      if (!point || *point == 0)
        fail(line, "", "UTF-8 text", in_quotes(text_.substr(start, 1)), "save the file as UTF-8 text");
      line += *point == '\n' ? 1 : 0;
    }
  }

 private:
  std::string cell() {
    if (position_ < text_.size() && text_[position_] == '"') return quoted_cell();
    const std::size_t end = std::min(text_.find_first_of(",\r\n\"", position_), text_.size());
    if (end < text_.size() && text_[end] == '"')
      fail(line_, "", "quotes around a whole cell",
           "a quote inside " + in_quotes(text_.substr(position_, end - position_)),
           "put the cell in quotes and double the quotes inside it");
    const std::string_view found = text_.substr(position_, end - position_);
    position_ = end;
    return std::string(found);
  }

  std::string quoted_cell() {
    const std::size_t first_line = line_;
    std::string content;
    for (++position_;; ++position_) {
      if (position_ >= text_.size()) fail(first_line, "", "a closing quote", "the end of the file", "close the quote");
      const char c = text_[position_];
      if (c == '"') {
        if (text_.substr(position_ + 1, 1) != "\"") break;
        ++position_;
      }
      line_ += c == '\n' ? 1 : 0;
      content += c;
    }
    ++position_;
    if (position_ < text_.size() && std::string_view(",\r\n").find(text_[position_]) == std::string_view::npos)
      fail(line_, "", "a comma or the end of the line after a closing quote", in_quotes(text_.substr(position_, 1)),
           "double the quotes inside a quoted cell");
    return content;
  }

  void end_line() {
    if (position_ < text_.size() && text_[position_] == '\r') {
      if (text_.substr(position_, 2) != "\r\n")
        fail(line_, "", "lines that end in LF or CRLF", "a lone carriage return", "convert the line ends");
      ++position_;
    }
    ++position_;
    ++line_;
  }

  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0, line_ = 1;
};

bool equals_ignoring_case(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + ('a' - 'A') : x) == y; });
}

// Whether a decimal number that double cannot hold is too small rather than too large: by the place of its first
// digit that is not zero.
bool is_tiny(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto leading = static_cast<std::int64_t>(std::min(digits.find_first_not_of("0."), digits.size()));
  if (e == number.size()) return leading > point;
  std::string_view exponent = number.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  const auto result = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (result.ec != std::errc{} || std::abs(power) > (std::int64_t{1} << 40)) return exponent.starts_with('-');
  return power + point - leading < 0;
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

}  // namespace

std::vector<std::string> parse_list(std::string_view text, const std::string& option) {
  if (text.empty()) return {};
  try {
    CsvParser parser(text, option);
    auto row = parser.next_row();
    if (!row || parser.next_row()) throw Error(ErrorCode::usage, option);
    if (row->cells.back().empty()) row->cells.pop_back();  // a comma at the end
    return std::move(row->cells);
  } catch (const Error&) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: expected names separated by commas, in quotes where a name has a comma or a quote "
                            "(\"a, b\",c), found {}",
                            option, in_quotes(text)));
  }
}

CsvTable read_csv(const std::filesystem::path& file, bool has_header) {
  const std::string text = read_text_file(file);
  CsvParser parser(text, file.string());
  parser.check_text();
  CsvTable table;
  std::size_t width = 0, first_blank = 0, blanks = 0;
  while (auto row = parser.next_row()) {
    if (row->blank) {  // no row when it is one of the last lines; else a row of one empty cell
      if (blanks++ == 0) first_blank = row->line;
      continue;
    }
    if (blanks > 0) {
      if (width != 1)
        parser.fail(first_blank, "",
                    width == 0 ? "a table that starts in the first line" : fmt::format("{} cells", width),
                    "a blank line", "remove the blank line");
      table.rows.insert(table.rows.end(), blanks, {std::string()});
      while (blanks > 0) table.lines.push_back(row->line - blanks--);
    }
    if (width == 0) width = row->cells.size();
    if (row->cells.size() != width)
      parser.fail(row->line, "", fmt::format("{} cell{}, as in the first row", width, width == 1 ? "" : "s"),
                  fmt::format("{} cell{}", row->cells.size(), row->cells.size() == 1 ? "" : "s"),
                  width == 1 && !table.header.empty() && table.header[0].find(';') != std::string::npos
                      ? "separate cells by commas, not by semicolons"
                      : "fill in or remove cells; quote cells that contain a comma");
    if (has_header && table.header.empty()) {
      std::set<std::string> seen;
      for (const auto& name : row->cells)
        if (!seen.insert(name).second)
          parser.fail(row->line, "column " + in_quotes(name), "unique column names", "a duplicate",
                      "rename one of them");
      table.header = std::move(row->cells);
    } else {
      table.rows.push_back(std::move(row->cells));
      table.lines.push_back(row->line);
    }
  }
  if (width == 0)
    throw Error(BadInput{file.string(), "", "a table of comma-separated cells", "blank lines only", "write it again"});
  return table;
}

CsvShape csv_shape(const std::filesystem::path& file) {
  constexpr std::uint64_t kSmall = 16u << 20;
  InputFile input(file);
  if (input.size() <= kSmall) {
    const CsvTable table = read_csv(file, true);
    return {table.rows.size(), table.header.size()};
  }
  std::vector<char> piece(1u << 20);
  std::size_t rows = 0, cells = 1, blank = 0;
  bool quoted = false, empty = true;
  const auto end_row = [&] {
    if (empty) ++blank;  // counts unless it is one of the last
    if (!empty) rows += 1 + std::exchange(blank, 0);
    empty = true;
  };
  while (const std::size_t got = input.read_some(piece.data(), piece.size()))
    for (std::size_t i = 0; i < got; ++i) {
      const char c = piece[i];
      if (c == '"') quoted = !quoted;  // a doubled quote is two of them
      if (c == '\n' && !quoted) {
        end_row();
        continue;
      }
      if (c == ',' && !quoted && rows == 0) ++cells;
      if (c != '\r') empty = false;
    }
  end_row();
  return {rows - 1, cells};
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
    return equals_ignoring_case(digits, "nan") || equals_ignoring_case(digits, "na");
  }
  double magnitude = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, magnitude);
  if (end != last || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    if (!is_tiny(digits)) return false;
    magnitude = 0;
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
    if (lines.size() > (1u << 20)) {
      out.write(lines);
      lines.clear();
    }
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
      if (lines.size() > (1u << 20)) {
        out.write(lines);
        lines.clear();
      }
    }
  });
  out.write(lines);
  out.commit();
}

}  // namespace parsnets
