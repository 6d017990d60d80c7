#include "model/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/composite.hpp"
#include "model/fit_gates.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Preprocessed rows of raw input.
Matrix<float> prepared(const Model& model, MatrixView<const float> x, ThreadPool& pool) {
  if (x.cols() != model.dimensions)
    throw Error(BadInput{"input", "features", fmt::format("{} per sample, as in training", model.dimensions),
                         std::to_string(x.cols()), "use the features of the training data"});
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x.data()[i]))
      throw Error(BadInput{"input", fmt::format("sample {}, feature {}", i / x.cols(), i % x.cols()), "a finite number",
                           fmt::format("{}", x.data()[i]), "remove or replace the value"});
  Matrix<float> rows = Matrix<float>::copy_of(x);
  pool.parallel_for(rows.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t r = begin; r < end; ++r) model.feature_preprocess.apply(rows.row(r));
  });
  return rows;
}

}  // namespace

Encoded encode_all(const Model& model, MatrixView<const float> x, ThreadPool& pool) {
  Encoded out;
  out.x = prepared(model, x, pool);
  if (!model.encoder.is_identity()) out.e = encoded(model.encoder, out.x.view(), pool);
  return out;
}

MatrixView<const float> network_input(const Model& model, const Encoded& encoded) {
  return model.networks_see_encoding ? encoded.embedding() : encoded.x.view();
}

Predicted predict_encoded(const Model& model, const Encoded& input, ThreadPool& pool) {
  Predicted out;
  out.open = open_networks(model.gates, input.embedding(), pool);
  out.f = compose(network_input(model, input), out.open.view(), model.gates.networks, model.networks.view(), model.bias,
                  model.relu, pool);
  if (!model.shared.empty())
    multiply(pool, Trans::no, input.x.view(), Trans::no, model.shared.view(), out.f.view(), 1, 1);
  return out;
}

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
