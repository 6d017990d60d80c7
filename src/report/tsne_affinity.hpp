#pragma once
// The distribution P over pairs of rows that t-SNE imitates in the plane: nearest neighbours, the width of each row's
// Gaussian, and the symmetric sparse matrix made of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

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

}  // namespace parsnets
