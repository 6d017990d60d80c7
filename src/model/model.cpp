#include "parsnets/model.hpp"

#include <algorithm>

#include "base/linalg.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

Predictor predictor_of(const Model& model, const PreparedClasses& prepared) {
  return Predictor(model, std::shared_ptr<const PreparedClasses>(std::shared_ptr<void>(), &prepared));
}

Matrix<float> Model::predict(MatrixView<const float> x, ThreadPool& pool) const {
  if (direction != Direction::forward)
    throw Error(ErrorCode::usage, "this model maps semantics to features and cannot predict semantics");
  Matrix<float> f(x.rows(), networks.cols());
  Predictor(*this, nullptr).predict(x, pool, f.view());
  return f;
}

Matrix<float> Model::predict_semantics(MatrixView<const float> x, ThreadPool& pool) const {
  return as_attributes(*this, predict(x, pool), pool);
}

Matrix<float> Model::scores(MatrixView<const float> x, ThreadPool& pool) const {
  return scores(x, prepare_classes(pool), pool);
}

Matrix<float> Model::scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool) const {
  Matrix<float> made(x.rows(), prepared.vectors.rows());
  predictor_of(*this, prepared).scores(x, pool, made.view());
  return made;
}

void centre_rows(const Model& model, MatrixView<float> rows) {
  if (model.similarity != Similarity::cosine || model.semantic_centre.empty()) return;
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t a = 0; a < rows.cols(); ++a) rows(r, a) -= model.semantic_centre[a];
}

Matrix<float> as_attributes(const Model& model, Matrix<float> rows, ThreadPool& pool) {
  if (model.targets == Targets::semantics && model.semantic_preprocess.whitening.empty()) return rows;
  Matrix<float> out(rows.rows(), model.attributes());
  if (model.targets == Targets::classes) {
    const std::size_t o = rows.cols(), m = out.cols();
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

/// Names every field, so that a new one does not compile until it is copied, too.
Model shared_copy(const Model& model) {
  const auto& [dimensions, feature_preprocess, encoder, gates, see_encoding, direction, targets, networks, relu, shared,
               bias, reverse, semantic_preprocess, centre, similarity, prototypes, prior_samples, attribute_head, field,
               classes, attribute_names, feature_names, gamma, temperature, rejection, sets, options, record] = model;
  const auto& [weights, error] = encoder;
  const auto& [kind, count, open, anchors] = gates;
  const auto& [support, prototype_weights, width, ridge] = prototypes;
  const auto& [names, seen, semantics, samples, means, taught, adapted, described, gamma_before] = classes;
  return {dimensions,
          feature_preprocess,
          {weights.share(), error},
          {kind, count, open, anchors.share()},
          see_encoding,
          direction,
          targets,
          networks.share(),
          relu,
          shared.share(),
          bias,
          reverse.share(),
          semantic_preprocess,
          centre,
          similarity,
          {support.share(), prototype_weights.share(), width, ridge},
          prior_samples,
          attribute_head.share(),
          field,
          {names,
           seen,
           semantics.share(),
           samples,
           means.share(),
           {taught.samples, Matrix<float>::copy_of(taught.sums.view())},  // teaching and adapting change these in place
           {adapted.samples, Matrix<float>::copy_of(adapted.sums.view())},
           described,
           gamma_before},
          attribute_names,
          feature_names,
          gamma,
          temperature,
          rejection,
          sets,
          options,
          record};
}

}  // namespace parsnets
