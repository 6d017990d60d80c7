#include "model/scoring.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random_matrix.hpp"

namespace parsnets {
namespace {

Matrix<float> scored(Similarity kind, const Matrix<float>& f, const Matrix<float>& bank) {
  Matrix<float> scores(f.rows(), bank.rows());
  std::vector<const float*> rows;
  std::vector<float*> to;
  for (std::size_t r = 0; r < f.rows(); ++r) {
    rows.push_back(f.row(r).data());
    to.push_back(scores.row(r).data());
  }
  ScoreRoom room;
  measure_rows(rows, f.cols(), room);
  EXPECT_TRUE(score_block(kind, rows, {bank.view(), squared_lengths(bank.view())}, room, to, 0));
  return scores;
}

TEST(Scoring, EverySimilarityEqualsItsDefinition) {
  const Matrix<float> f = test::random_matrix<float>(9, 6, 1), bank = test::random_matrix<float>(4, 6, 2);
  for (const auto kind : {Similarity::cosine, Similarity::dot, Similarity::euclidean}) {
    const Matrix<float> scores = scored(kind, f, bank);
    for (std::size_t r = 0; r < 9; ++r)
      for (std::size_t c = 0; c < 4; ++c) {
        double dot = 0, nf = 0, nb = 0, distance = 0;
        for (std::size_t j = 0; j < 6; ++j) {
          dot += static_cast<double>(f(r, j)) * bank(c, j);
          nf += static_cast<double>(f(r, j)) * f(r, j);
          nb += static_cast<double>(bank(c, j)) * bank(c, j);
          distance += std::pow(static_cast<double>(f(r, j)) - bank(c, j), 2);
        }
        const double expected = kind == Similarity::dot      ? dot
                                : kind == Similarity::cosine ? dot / std::sqrt(nf * nb)
                                                             : -std::sqrt(distance);
        EXPECT_NEAR(scores(r, c), expected, 1e-5);
      }
  }
}

TEST(Scoring, ZeroVectorsScoreZeroCosine) {
  const Matrix<float> zero(1, 3, 0.0f), bank = test::random_matrix<float>(2, 3, 3);
  const Matrix<float> scores = scored(Similarity::cosine, zero, bank);
  for (const float s : scores.values()) EXPECT_EQ(s, 0.0f);
}

}  // namespace
}  // namespace parsnets
