#include "model/scoring.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/finite.hpp"
#include "base/linalg.hpp"
#include "base/row_products.hpp"

namespace parsnets {

namespace {

PARSNETS_SIMD void to_lengths(const float* squares, float* lengths, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) lengths[i] = std::sqrt(squares[i]);
}

/// `lengths` of classes, infinite for a zero vector; `length` of the row.
PARSNETS_SIMD void to_cosines(float* products, const float* lengths, std::size_t count, float length) {
  for (std::size_t i = 0; i < count; ++i) products[i] = products[i] / (length * lengths[i]);
}

PARSNETS_SIMD void to_distances(float* products, const float* squares, std::size_t count, float square) {
  for (std::size_t i = 0; i < count; ++i) {
    const float rest = square + squares[i] - 2 * products[i];
    products[i] = -std::sqrt(rest < 0 ? 0.0f : rest);
  }
}

}  // namespace

std::vector<float> squared_lengths(MatrixView<const float> rows) {
  std::vector<float> squares(rows.rows());
  for (std::size_t r = 0; r < rows.rows(); ++r) squares[r] = static_cast<float>(dot(rows.row(r), rows.row(r)));
  return squares;
}

void measure_rows(std::span<const float* const> f, std::size_t m, ScoreRoom& room) {
  room.squares.resize(f.size());
  for (std::size_t r = 0; r < f.size(); ++r)
    room.squares[r] = static_cast<float>(dot(std::span(f[r], m), std::span(f[r], m)));
}

bool score_block(Similarity kind, std::span<const float* const> f, const ClassBlock& classes, ScoreRoom& room,
                 std::span<float* const> out, std::size_t offset) {
  const std::size_t count = classes.vectors.rows();
  multiply_transposed(f, classes.vectors.cols(), classes.vectors.data(), count, at_least(room.product, kProductScratch),
                      out, offset);
  float* lengths = at_least(room.class_lengths, kScoredClasses);
  if (kind == Similarity::cosine) {
    to_lengths(classes.squares.data(), lengths, count);
    std::replace(lengths, lengths + count, 0.0f, std::numeric_limits<float>::infinity());
  }
  bool finite = true;
  for (std::size_t r = 0; r < f.size(); ++r) {
    float* scores = out[r] + offset;
    if (kind == Similarity::euclidean) to_distances(scores, classes.squares.data(), count, room.squares[r]);
    if (kind == Similarity::cosine && room.squares[r] > 0)
      to_cosines(scores, lengths, count, std::sqrt(room.squares[r]));
    else if (kind == Similarity::cosine && room.squares[r] == 0)
      std::fill_n(scores, count, 0.0f);
    finite = all_finite({scores, count}) && finite;
  }
  return finite;
}

}  // namespace parsnets
