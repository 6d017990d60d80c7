#pragma once
// Scores of samples that need not be in memory together.

#include "base/mapped_rows.hpp"
#include "eval/score_source.hpp"

namespace parsnets {

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
