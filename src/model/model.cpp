#include "parsnets/model.hpp"

#include <algorithm>

#include "model/pipeline.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Rows of scores against so many classes that are made at a time: some 32 MB of them.
std::size_t rows_at_a_time(std::size_t classes) {
  constexpr std::size_t kBytes = std::size_t{32} << 20, kFewest = 64;
  return std::max(kFewest, kBytes / sizeof(float) / std::max<std::size_t>(classes, 1));
}

/// score(first, count, scores) makes the scores of some rows.
template <class Score>
void visit_rows(std::size_t rows, std::size_t classes, const ScoreVisitor& visit, const Score& score) {
  const std::size_t most = std::min(rows, rows_at_a_time(classes));
  Matrix<float> room(most, classes);
  for (std::size_t first = 0; first < rows; first += most) {
    const MatrixView<float> scores(room.data(), std::min(most, rows - first), classes);
    score(first, scores.rows(), scores);
    visit(first, scores);
  }
}

MatrixView<const float> some_rows(MatrixView<const float> all, std::size_t first, std::size_t count) {
  return {all.row(first).data(), count, all.cols()};
}

}  // namespace

Matrix<float> Model::predict(MatrixView<const float> x, ThreadPool& pool) const {
  if (direction != Direction::forward)
    throw Error(ErrorCode::usage, "this model maps semantics to features and cannot predict semantics");
  Matrix<float> f(x.rows(), networks.cols());
  Pipeline(*this).predict(x, pool, f.view());
  return f;
}

Matrix<float> Model::predict_semantics(MatrixView<const float> x, ThreadPool& pool) const {
  return as_attributes(*this, predict(x, pool), pool);
}

Matrix<float> Model::score_predictions(MatrixView<const float> f, ThreadPool& pool) const {
  const PreparedClasses prepared = prepare_classes(pool);
  Matrix<float> made(f.rows(), prepared.vectors.rows());
  Pipeline(*this).compare(f, prepared, pool, made.view());
  return made;
}

Matrix<float> Model::scores(MatrixView<const float> x, ThreadPool& pool) const {
  return scores(x, prepare_classes(pool), pool);
}

Matrix<float> Model::scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool) const {
  Matrix<float> made(x.rows(), prepared.vectors.rows());
  Pipeline(*this).scores(x, prepared, pool, made.view());
  return made;
}

void Model::visit_scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool,
                         const ScoreVisitor& visit) const {
  const Pipeline pipeline(*this);
  visit_rows(x.rows(), prepared.vectors.rows(), visit,
             [&](std::size_t first, std::size_t count, MatrixView<float> scores) {
               pipeline.scores(some_rows(x, first, count), prepared, pool, scores, first);
             });
}

void Model::visit_prediction_scores(MatrixView<const float> f, const PreparedClasses& prepared, ThreadPool& pool,
                                    const ScoreVisitor& visit) const {
  const Pipeline pipeline(*this);
  visit_rows(f.rows(), prepared.vectors.rows(), visit,
             [&](std::size_t first, std::size_t count, MatrixView<float> scores) {
               pipeline.compare(some_rows(f, first, count), prepared, pool, scores);
             });
}

}  // namespace parsnets
