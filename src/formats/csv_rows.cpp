#include "formats/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

}  // namespace parsnets
