#pragma once
// t-SNE: a map of rows in many dimensions to points in the plane that keeps neighbours together.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct TsneOptions {
  double perplexity = 30;  ///< >= 1, effective number of neighbours; lowered to what the number of rows allows
  int iterations = 750;    ///< >= 1, steps of descent; the first third (at most 250) with exaggerated attraction
  double theta = 0.5;      ///< 0 .. 1, cells seen under a smaller angle are taken as one point; 0 is exact (and n²)
  std::uint64_t seed = 1;  ///< of the jitter that tells equal rows apart
};

/// n x d finite values, n and d >= 1, to n x 2 finite ones, centred. More than 50 columns are first reduced to 50
/// principal components; rows nearer than 1e-10 of the largest norm count as equal. The same bits for the same seed and
/// any number of threads. Throws Error(bad_input) for an empty or non-finite x, Error(cancelled).
Matrix<float> tsne(MatrixView<const float> x, const TsneOptions& options, ThreadPool& pool,
                   ProgressObserver* progress = nullptr);

// The steps of tsne, for its tests and its benchmark.

/// Centred and scaled rows on their principal axes, largest variance first: n x min(n, d, components).
Matrix<double> principal_coordinates(MatrixView<const float> x, std::size_t components, ThreadPool& pool);

// The distribution P over pairs of rows that t-SNE imitates in the plane: nearest neighbours, the width of each row's
// Gaussian, and the symmetric sparse matrix made of them.

struct Neighbours {
  Matrix<std::uint32_t> index;      ///< n x k, nearest first, ties by index; never the row itself
  Matrix<double> squared_distance;  ///< n x k
};
/// The k < n nearest other rows of each row of an n x m matrix, exactly, by blocks of all n² distances.
Neighbours nearest_neighbours(MatrixView<const double> rows, std::size_t k, ThreadPool& pool,
                              ProgressObserver* progress = nullptr);

/// p_j ∝ exp(-β·d_j), Σ p_j = 1, with β such that exp(-Σ p_j log p_j) = perplexity, for k >= 1 squared distances.
/// Where ties at the smallest distance forbid so low a perplexity, they share all of p.
void calibrate_row(std::span<const double> squared_distances, double perplexity, std::span<double> p);

/// Symmetric n x n matrix with zero diagonal whose values add up to 1, by rows; columns ascend within a row.
struct Affinities {
  std::vector<std::size_t> start;     ///< n + 1
  std::vector<std::uint32_t> column;  ///< start[n]
  std::vector<double> value;          ///< start[n], positive
  std::size_t rows() const { return start.size() - 1; }
};
/// p_ij = (p_j|i + p_i|j) / 2n, where p_j|i is calibrated on i's neighbours and 0 elsewhere.
Affinities symmetric_affinities(const Neighbours& neighbours, double perplexity, ThreadPool& pool);

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
