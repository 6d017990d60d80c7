#include "model/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

void scale_heads(const Model& model, MatrixView<float> rows) {
  if (model.head_weight == 0) return;
  const double share = 1 / (1 + model.head_weight);
  const auto scale = [](std::span<float> part, double square) {
    if (const double squares = dot(part, part); squares > 0)
      for (float& v : part) v = static_cast<float>(v * std::sqrt(square / squares));
  };
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    scale(rows.row(i).first(model.class_outputs()), share);
    scale(rows.row(i).subspan(model.class_outputs()), 1 - share);
  }
}

void centre_rows(const Model& model, MatrixView<float> rows) {
  if (model.similarity != Similarity::cosine) return;
  for (std::size_t r = 0; r < rows.rows() && !model.semantic_centre.empty(); ++r)
    for (std::size_t a = 0; a < rows.cols(); ++a) rows(r, a) -= model.semantic_centre[a];
  scale_heads(model, rows);
}

Matrix<float> as_attributes(const Model& model, Matrix<float> rows, ThreadPool& pool) {
  if (model.targets == Targets::semantics && model.semantic_preprocess.whitening.empty()) return rows;
  Matrix<float> out(rows.rows(), model.attributes());
  if (model.targets == Targets::classes) {
    const std::size_t o = model.class_outputs(), m = out.cols();
    if (o < rows.cols()) {  // the semantic head has no part in it
      Matrix<float> placed(rows.rows(), o);
      for (std::size_t r = 0; r < rows.rows(); ++r) std::ranges::copy(rows.row(r).first(o), placed.row(r).begin());
      rows = std::move(placed);
    }
    for (std::size_t r = 0; r < out.rows(); ++r) std::ranges::copy(model.attribute_head.row(o), out.row(r).begin());
    multiply(pool, Trans::no, rows.view(), Trans::no, {model.attribute_head.data(), o, m}, out.view(), 1, 1);
    return out;
  }
  for (std::size_t r = 0; r < rows.rows(); ++r) model.semantic_preprocess.expand(rows.row(r), out.row(r));
  return out;
}

void check_prepared(const Model& model, const PreparedClasses& prepared) {
  if (prepared.vectors.rows() != model.classes.names.size() || prepared.squares.size() != model.classes.names.size())
    throw Error(ErrorCode::usage, "the prepared classes do not belong to this model; prepare them again");
}

}  // namespace parsnets
