#include "report/quad_tree.hpp"

#include <algorithm>

namespace parsnets {

namespace {

constexpr std::size_t kLeafPoints = 6, kPointChunk = 256;

/// A bound between two different values that puts at least one on either side of `value > bound`.
double split_between(double low, double high) {
  const double middle = low + (high - low) / 2;
  return middle < high ? middle : low;
}

}  // namespace

QuadTree::QuadTree(MatrixView<const double> points) {
  points_.reserve(points.rows());
  for (std::size_t i = 0; i < points.rows(); ++i)
    points_.push_back({points(i, 0), points(i, 1), static_cast<std::uint32_t>(i)});
  cells_.reserve(points.rows());
  if (!points_.empty()) add_cell(0, points_.size());
}

void QuadTree::add_cell(std::size_t begin, std::size_t end) {
  // The box is that of the points, not a quarter of the parent's: no cell is empty, no chain of cells holds the same
  // points, and cells know their true extent.
  double low_x = points_[begin].x, high_x = low_x, low_y = points_[begin].y, high_y = low_y, sum_x = 0, sum_y = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Point& p = points_[i];
    low_x = std::min(low_x, p.x);
    high_x = std::max(high_x, p.x);
    low_y = std::min(low_y, p.y);
    high_y = std::max(high_y, p.y);
    sum_x += p.x;
    sum_y += p.y;
  }
  const double count = static_cast<double>(end - begin), extent = std::max(high_x - low_x, high_y - low_y);
  const std::size_t cell = cells_.size();
  cells_.push_back({sum_x / count, sum_y / count, count, extent * extent, 0, static_cast<std::uint32_t>(begin),
                    static_cast<std::uint32_t>(end)});
  if (end - begin > kLeafPoints && extent > 0) {
    cells_[cell].end = cells_[cell].begin;
    const double middle_x = split_between(low_x, high_x), middle_y = split_between(low_y, high_y);
    const auto at = [&](std::size_t i) { return points_.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto split = [&](std::size_t from, std::size_t to, auto&& before) {
      return static_cast<std::size_t>(std::partition(at(from), at(to), before) - points_.begin());
    };
    const auto is_left = [&](const Point& p) { return p.x <= middle_x; };
    const auto is_low = [&](const Point& p) { return p.y <= middle_y; };
    const std::size_t half = split(begin, end, is_left);
    const std::size_t bounds[] = {begin, split(begin, half, is_low), half, split(half, end, is_low), end};
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      if (bounds[quarter] < bounds[quarter + 1]) add_cell(bounds[quarter], bounds[quarter + 1]);
  }
  cells_[cell].next = static_cast<std::uint32_t>(cells_.size());
}

double QuadTree::repulsion(double theta, ThreadPool& pool, MatrixView<double> force) const {
  const double squared_theta = theta * theta;
  std::vector<double> weights(points_.size());
  // Points in the order of the tree: neighbours take the same way through it.
  pool.parallel_for(points_.size(), kPointChunk, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const double x = points_[i].x, y = points_[i].y;
      double force_x = 0, force_y = 0, weight = -1;  // the point itself is met once, with weight 1 and no force
      const auto add = [&](double dx, double dy, double count) {
        const double w = 1 / (1 + dx * dx + dy * dy), counted = count * w, squared = counted * w;
        weight += counted;
        force_x += squared * dx;
        force_y += squared * dy;
      };
      for (std::size_t c = 0; c < cells_.size();) {
        const Cell& cell = cells_[c];
        const double dx = x - cell.x, dy = y - cell.y;
        if (cell.squared_extent <= squared_theta * (dx * dx + dy * dy)) {
          add(dx, dy, cell.count);
          c = cell.next;
        } else if (cell.begin < cell.end) {
          for (std::size_t j = cell.begin; j < cell.end; ++j) add(x - points_[j].x, y - points_[j].y, 1);
          c = cell.next;
        } else {
          ++c;
        }
      }
      const std::size_t index = points_[i].index;
      force(index, 0) = force_x;
      force(index, 1) = force_y;
      weights[index] = weight;
    }
  });
  double z = 0;
  for (const double w : weights) z += w;
  return z;
}

}  // namespace parsnets
