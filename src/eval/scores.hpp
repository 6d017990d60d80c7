#pragma once
// What every metric asks of its input: candidate lists, labels and scores are checked here, once, before they count.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// For each of `classes` classes its place in `candidates`, or −1. Throws bad_input, naming `what`, unless there is at
/// least one candidate, each below `classes` and listed once.
std::vector<std::int32_t> places_of(std::span<const std::int32_t> candidates, std::size_t classes,
                                    const std::string& what);

/// Throws bad_input, naming `what`, unless there is one label per row of scores.
void check_label_count(std::size_t rows, std::span<const std::int32_t> labels, const std::string& what);

/// Throws bad_input, naming `what`, unless every candidate's score is finite. `first`: the number of the first row.
void check_finite_scores(MatrixView<const float> scores, std::span<const std::int32_t> candidates,
                         const std::string& what, std::size_t first = 0);

/// The places of the labels. Throws bad_input, naming `what`, unless there is at least one and all are candidates.
std::vector<std::size_t> places_of_labels(std::span<const std::int32_t> labels, std::span<const std::int32_t> places,
                                          const std::string& what);

/// The place of the largest score; ties go to the earlier candidate.
inline std::size_t best_place(std::span<const float> row, std::span<const std::int32_t> candidates) {
  std::size_t best = 0;
  float top = row[static_cast<std::size_t>(candidates[0])];
  for (std::size_t k = 1; k < candidates.size(); ++k) {
    const float score = row[static_cast<std::size_t>(candidates[k])];
    if (score > top) {
      top = score;
      best = k;
    }
  }
  return best;
}

}  // namespace parsnets
