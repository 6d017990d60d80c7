#pragma once
// Memory of scoring, and scores that are kept.

#include <algorithm>
#include <memory>

#include "base/scratch_file.hpp"
#include "eval/metrics.hpp"
#include "model/prediction.hpp"

namespace parsnets {

/// Samples that are scored at a time where not all of them are in memory.
inline constexpr std::size_t kScoredRows = 2048;

/// Memory that scoring needs beside the samples, `rows` of which are scored at a time.
inline double scoring_bytes(std::size_t classes, std::size_t outputs, std::size_t dimensions,
                            std::size_t rows = ~std::size_t{0}) {
  constexpr double kBlock = 34e6, kBatch = kScoredRows;
  const auto c = static_cast<double>(classes), q = static_cast<double>(outputs), d = static_cast<double>(dimensions);
  return 2 * std::min(kBlock, 4 * c * static_cast<double>(rows)) + 2 * 1024 * c + 12 * c * (q + 1) + 12 * kBatch * d;
}

/// What is kept of scores that are visited several times; more than that is made anew each time.
inline constexpr std::uint64_t kKeptScores = std::uint64_t{64} << 20;

/// Keeps rows x classes scores from the first visit on where they need at most `bytes`, so that they are not made anew.
inline ScoreRows kept(ScoreRows scores, std::size_t rows, std::size_t classes, std::uint64_t bytes) {
  if (rows * classes > bytes / sizeof(float)) return scores;
  return [scores = std::move(scores), rows, classes, all = std::make_shared<Matrix<float>>()](const auto& visit) {
    if (all->empty() && rows > 0) {
      Matrix<float> made(rows, classes);
      scores([&](std::size_t first, MatrixView<const float> some) {
        std::ranges::copy(some.values(), made.row(first).begin());
      });
      *all = std::move(made);
    }
    if (!all->empty()) visit(0, all->view());
  };
}

}  // namespace parsnets
