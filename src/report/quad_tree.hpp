#pragma once
// A quad tree over points in the plane, for sums over all pairs in which a far cell counts as one point (Barnes and
// Hut).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

class QuadTree {
 public:
  /// Sorts n x 2 points into cells; they are copied.
  explicit QuadTree(MatrixView<const double> points);

  /// With w_ij = 1 / (1 + |y_i - y_j|²): row i of `force` (n x 2) becomes Σ_j w_ij²·(y_i - y_j). Returns
  /// Z = Σ_{i≠j} w_ij. A cell of extent s at distance r counts as one point when s <= theta·r, theta in 0 .. 1.
  double repulsion(double theta, ThreadPool& pool, MatrixView<double> force) const;

 private:
  struct Point {
    double x, y;
    std::uint32_t index;
  };
  struct Cell {
    double x, y;               // mean of its points
    double count;              // of points
    double squared_extent;     // longer side of the box around its points
    std::uint32_t next;        // the cell after this one and all below it; cells are in preorder
    std::uint32_t begin, end;  // points of a leaf; empty for others
  };
  void add_cell(std::size_t begin, std::size_t end);

  std::vector<Point> points_;  // those of a cell are contiguous
  std::vector<Cell> cells_;
};

}  // namespace parsnets
