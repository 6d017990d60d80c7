#pragma once
// Similarity of predicted vectors to class vectors; higher is better.

#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// n x C: cosine (0 for a zero vector), dot product, or minus the Euclidean distance of rows of f (n x m) and bank (C x
/// m).
Matrix<float> similarities(Similarity kind, MatrixView<const float> f, MatrixView<const float> bank, ThreadPool& pool);
/// The same to the bit, with squared_lengths(bank) (C values) known.
Matrix<float> similarities(Similarity kind, MatrixView<const float> f, MatrixView<const float> bank,
                           std::span<const float> bank_squares, ThreadPool& pool);

/// Of each row.
std::vector<float> squared_lengths(MatrixView<const float> rows);

/// Per-attribute terms that add up to the cosine or dot product, or to minus the squared distance for euclidean.
std::vector<double> similarity_terms(Similarity kind, std::span<const float> f, std::span<const float> a);

}  // namespace parsnets
