#pragma once
// Similarity of predicted vectors to class vectors; higher is better.

#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// Of each row.
std::vector<float> squared_lengths(MatrixView<const float> rows);

/// Classes that are scored at a time, at most.
inline constexpr std::size_t kScoredClasses = 1024;

/// Memory of one thread in which scores are made; grows to what it needs and is kept.
struct ScoreRoom {
  Matrix<float> product, class_lengths;
  std::vector<float> squares;
};

/// Classes to compare with: vectors are count x m, squares their squared lengths.
struct ClassBlock {
  MatrixView<const float> vectors;
  std::span<const float> squares;
};

/// Squared lengths of rows of m values, for score_block().
void measure_rows(std::span<const float* const> f, std::size_t m, ScoreRoom& room);

/// Cosines (0 for a zero vector), dot products, or minus the Euclidean distances of the rows that were measured and at
/// most kScoredClasses classes. The scores of row r go to out[r][offset], out[r][offset + 1], …; the bits of a score
/// depend on its two vectors alone. Returns whether all are finite.
bool score_block(Similarity kind, std::span<const float* const> f, const ClassBlock& classes, ScoreRoom& room,
                 std::span<float* const> out, std::size_t offset);

}  // namespace parsnets
