#pragma once
// Similarity of predicted vectors to class vectors; higher is better.

#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// n x C: cosine (0 for a zero vector), dot product, or minus the Euclidean distance of rows of f (n x m) and bank (C x
/// m). The bits of a score depend on its two vectors alone.
Matrix<float> similarities(Similarity kind, MatrixView<const float> f, MatrixView<const float> bank, ThreadPool& pool);
/// The same to the bit, with squared_lengths(bank) (C values) known.
Matrix<float> similarities(Similarity kind, MatrixView<const float> f, MatrixView<const float> bank,
                           std::span<const float> bank_squares, ThreadPool& pool);

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

/// similarities() of the rows that were measured to at most kScoredClasses classes, to the same bits. The scores of row
/// r go to out[r][offset], out[r][offset + 1], … Returns whether all are finite.
bool score_block(Similarity kind, std::span<const float* const> f, const ClassBlock& classes, ScoreRoom& room,
                 std::span<float* const> out, std::size_t offset);

/// Per-attribute terms that add up to the cosine or dot product, or to minus the squared distance for euclidean.
std::vector<double> similarity_terms(Similarity kind, std::span<const float> f, std::span<const float> a);

}  // namespace parsnets
