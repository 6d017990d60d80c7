#pragma once
// t-SNE: a map of rows in many dimensions to points in the plane that keeps neighbours together.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "report/tsne_affinity.hpp"

namespace parsnets {

struct TsneOptions {
  double perplexity = 30;  ///< >= 1, effective number of neighbours; lowered to what the number of rows allows
  int iterations = 750;    ///< >= 1, steps of descent; the first third (at most 250) with exaggerated attraction
  double theta = 0.5;      ///< 0 .. 1, cells seen under a smaller angle are taken as one point; 0 is exact (and n²)
  std::uint64_t seed = 1;  ///< of the jitter that tells equal rows apart
};

/// n x d finite values, n and d >= 1, to n x 2 finite ones, centred. More than 50 columns are first reduced to 50
/// principal components; rows nearer than 1e-10 of the largest norm count as equal. The same bits for the same seed and
/// any number of threads. Throws Error(bad_input) for an empty or non-finite x, Error(usage) for impossible options,
/// Error(cancelled).
Matrix<float> tsne(MatrixView<const float> x, const TsneOptions& options, ThreadPool& pool,
                   ProgressObserver* progress = nullptr);

// The steps of tsne, for its tests and its benchmark.

/// Centred and scaled rows on their principal axes, largest variance first: n x min(n, d, components).
Matrix<double> principal_coordinates(MatrixView<const float> x, std::size_t components, ThreadPool& pool);

/// P of `rows` (n x m, n >= 2) with the perplexity lowered to what fits.
Affinities tsne_affinities(MatrixView<const double> rows, double perplexity, ThreadPool& pool,
                           ProgressObserver* progress = nullptr);

/// KL(P || Q) of the points y (n x 2), where Z is approximated as `theta` says.
double tsne_objective(const Affinities& p, MatrixView<const double> y, double theta, ThreadPool& pool);

/// The gradient of KL(P || Q) at y (both n x 2), with P multiplied by `exaggeration`.
void tsne_gradient(const Affinities& p, MatrixView<const double> y, double exaggeration, double theta, ThreadPool& pool,
                   MatrixView<double> gradient);

// A quad tree over points in the plane, for sums over all pairs in which a far cell counts as one point (Barnes and
// Hut).

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
