#pragma once
// How classes lie in a space: singular values, angles, hubs.

#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// The `count` largest singular values of the rows, scaled so that all of them sum to 1. Zeros for rows that are all
/// zero.
std::vector<double> singular_profile(MatrixView<const float> rows, std::size_t count, ThreadPool& pool);

/// Angles in degrees, 0 to 180, between the mean vectors of all pairs of classes that occur in `labels` (one per row),
/// counted in `bins` equal bins.
std::vector<std::size_t> class_angles(MatrixView<const float> rows, std::span<const std::int32_t> labels,
                                      std::size_t bins);

struct Hubness {
  double skewness = 0;                 ///< of N_k; large: a few samples are neighbours of many
  std::vector<std::size_t> histogram;  ///< how many samples have N_k = 0, 1, …; the last bin takes the rest
};
/// N_k: how often a row is among the k nearest (by cosine) of the others; k is lowered to what the rows allow.
Hubness hubness(MatrixView<const float> rows, std::size_t k, std::size_t bins, ThreadPool& pool);

// An order of classes that puts similar ones side by side.

/// C x q class vectors to the C indices in display order: by the second eigenvector of the normalised affinity (1 +
/// cosine)/2 raised to the fourth power, then shortened by moving single classes. Deterministic.
std::vector<std::size_t> class_order(MatrixView<const float> vectors);

}  // namespace parsnets
