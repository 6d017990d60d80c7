#include "model/scoring.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.hpp"

namespace parsnets {

namespace {

Matrix<float> random_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Matrix<float> m(rows, cols);
  Rng rng(seed);
  for (float& v : m.values()) v = static_cast<float>(rng.normal());
  return m;
}

}  // namespace

TEST(Scoring, EverySimilarityEqualsItsDefinition) {
  const Matrix<float> f = random_matrix(9, 6, 1), bank = random_matrix(4, 6, 2);
  ThreadPool pool(1);
  for (const auto kind : {Similarity::cosine, Similarity::dot, Similarity::euclidean}) {
    const Matrix<float> scores = similarities(kind, f.view(), bank.view(), pool);
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
        const auto terms = similarity_terms(kind, f.row(r), bank.row(c));
        EXPECT_NEAR(std::accumulate(terms.begin(), terms.end(), 0.0),
                    kind == Similarity::euclidean ? -distance : expected, 1e-5);
      }
  }
}

TEST(Scoring, ZeroVectorsScoreZeroCosine) {
  ThreadPool pool(1);
  const Matrix<float> zero(1, 3, 0.0f), bank = random_matrix(2, 3, 3);
  const Matrix<float> scores = similarities(Similarity::cosine, zero.view(), bank.view(), pool);
  for (const float s : scores.values()) EXPECT_EQ(s, 0.0f);
}

}  // namespace parsnets
