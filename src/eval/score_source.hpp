#pragma once
// n x C scores that need not be in memory at once.

#include <algorithm>
#include <functional>
#include <memory>

#include "base/scratch_file.hpp"
#include "model/prediction.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// Hands out all rows of scores, some at a time, as often as asked and to the same bits.
struct ScoreSource {
  std::size_t rows = 0, classes = 0;
  std::function<void(const ScoreVisitor&)> visit;
};

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

/// Keeps the scores from the first visit on where they need at most `bytes`, so that they are not made anew.
inline ScoreSource kept(ScoreSource source, std::uint64_t bytes) {
  if (source.rows * source.classes > bytes / sizeof(float)) return source;
  const auto all = std::make_shared<Matrix<float>>();
  const std::size_t rows = source.rows, classes = source.classes;
  return {rows, classes, [source = std::move(source), all](const ScoreVisitor& visit) {
            if (all->empty() && source.rows > 0) {
              Matrix<float> made(source.rows, source.classes);
              source.visit([&](std::size_t first, MatrixView<const float> scores) {
                std::ranges::copy(scores.values(), made.row(first).begin());
              });
              *all = std::move(made);
            }
            if (!all->empty()) visit(0, all->view());
          }};
}

/// Chosen rows of `features` (N x d), scored by `visit_scores` some at a time. Refers to everything it is given.
inline ScoreSource scores_of_rows(const Matrix<float>& features, std::span<const std::int32_t> rows,
                                  std::size_t classes,
                                  std::function<void(MatrixView<const float>, const ScoreVisitor&)> visit_scores) {
  return {rows.size(), classes, [&features, rows, visit_scores = std::move(visit_scores)](const ScoreVisitor& visit) {
            for (std::size_t start = 0; start < rows.size(); start += kScoredRows) {
              const Matrix<float> some =
                  gather_rows(features, rows.subspan(start, std::min(kScoredRows, rows.size() - start)));
              visit_scores(some.view(),
                           [&](std::size_t first, MatrixView<const float> scores) { visit(start + first, scores); });
            }
          }};
}

}  // namespace parsnets
