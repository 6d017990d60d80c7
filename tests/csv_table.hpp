#pragma once
// Tables that tests read, compare, change and write again.

#include "formats/csv.hpp"

namespace parsnets::test {

inline CsvTable table_of(const CsvCells& cells) {
  CsvTable table{cells.header, {}};
  for (std::size_t r = 0; r < cells.rows(); ++r)
    for (std::size_t c = 0; c < cells.cols(); ++c) {
      if (c == 0) table.rows.emplace_back();
      table.rows.back().emplace_back(cells.cell(r, c));
    }
  return table;
}

}  // namespace parsnets::test
