#include "parsnets/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "model/prediction.hpp"
#include "model/scoring.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Rows of scores against so many classes that are made at a time: some 32 MB of them.
std::size_t rows_at_a_time(std::size_t classes) {
  constexpr std::size_t kBytes = std::size_t{32} << 20, kFewest = 2 * kMultiplyRows;
  return std::max(kFewest, kBytes / sizeof(float) / std::max<std::size_t>(classes, 1) / kMultiplyRows * kMultiplyRows);
}

void require_finite(const Matrix<float>& scores) {
  for (const float s : scores.values())
    if (!std::isfinite(s))
      throw Error(BadInput{"the model", "weights", "finite scores for finite features", fmt::format("{}", s),
                           "train it again"});
}

/// similarities() to the bit, some rows at a time.
template <class Check>
void visit_similarities(Similarity kind, MatrixView<const float> rows, const PreparedClasses& prepared,
                        ThreadPool& pool, const ScoreVisitor& visit, const Check& check) {
  const std::size_t most = rows_at_a_time(prepared.vectors.rows());
  for (std::size_t first = 0; first < rows.rows(); first += most) {
    const MatrixView<const float> some(rows.row(first).data(), std::min(most, rows.rows() - first), rows.cols());
    const Matrix<float> scores = similarities(kind, some, prepared.vectors.view(), prepared.squares, pool);
    check(scores);
    visit(first, scores.view());
  }
}

/// Scores of predicted class vectors (n x q).
Matrix<float> compare(const Model& model, MatrixView<const float> f, const PreparedClasses& prepared,
                      ThreadPool& pool) {
  Matrix<float> centred = Matrix<float>::copy_of(f);
  centre_rows(model, centred.view());
  Matrix<float> scores =
      similarities(model.similarity, centred.view(), prepared.vectors.view(), prepared.squares, pool);
  require_finite(scores);
  return scores;
}

}  // namespace

Matrix<float> Model::predict(MatrixView<const float> x, ThreadPool& pool) const {
  if (direction != Direction::forward)
    throw Error(ErrorCode::usage, "this model maps semantics to features and cannot predict semantics");
  return predict_encoded(*this, encode_all(*this, x, pool), pool).f;
}

Matrix<float> Model::predict_semantics(MatrixView<const float> x, ThreadPool& pool) const {
  return as_attributes(*this, predict(x, pool), pool);
}

Matrix<float> Model::score_predictions(MatrixView<const float> f, ThreadPool& pool) const {
  return compare(*this, f, prepare_classes(pool), pool);
}

Matrix<float> Model::scores(MatrixView<const float> x, ThreadPool& pool) const {
  return scores(x, prepare_classes(pool), pool);
}

Matrix<float> Model::scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool) const {
  check_prepared(*this, prepared);
  if (direction == Direction::forward) return compare(*this, predict(x, pool).view(), prepared, pool);
  const Encoded input = encode_all(*this, x, pool);
  return similarities(similarity, network_input(*this, input), prepared.vectors.view(), prepared.squares, pool);
}

void Model::visit_scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool,
                         const ScoreVisitor& visit) const {
  check_prepared(*this, prepared);
  if (direction == Direction::forward) return visit_prediction_scores(predict(x, pool).view(), prepared, pool, visit);
  const Encoded input = encode_all(*this, x, pool);
  visit_similarities(similarity, network_input(*this, input), prepared, pool, visit, [](const Matrix<float>&) {});
}

void Model::visit_prediction_scores(MatrixView<const float> f, const PreparedClasses& prepared, ThreadPool& pool,
                                    const ScoreVisitor& visit) const {
  check_prepared(*this, prepared);
  Matrix<float> centred = Matrix<float>::copy_of(f);
  centre_rows(*this, centred.view());
  visit_similarities(similarity, centred.view(), prepared, pool, visit, require_finite);
}

}  // namespace parsnets
