#pragma once
// From raw features to predicted class vectors, in the steps that prediction and explanations share.

#include <cstdint>

#include "parsnets/model.hpp"

namespace parsnets {

struct Encoded {
  Matrix<float> x, e;  ///< e is empty when the encoder is the identity
  MatrixView<const float> embedding() const { return e.empty() ? x.view() : e.view(); }
};

/// Preprocesses and encodes n x d raw features. Throws bad_input for a wrong d or non-finite values.
Encoded encode_all(const Model& model, MatrixView<const float> x, ThreadPool& pool);
/// z: what the gated networks see.
MatrixView<const float> network_input(const Model& model, const Encoded& encoded);

struct Predicted {
  Matrix<float> f;             ///< n x o
  Matrix<std::uint16_t> open;  ///< n x k
};

Predicted predict_encoded(const Model& model, const Encoded& input, ThreadPool& pool);

/// Subtracts μ from every row, for cosine alone.
void centre_rows(const Model& model, MatrixView<float> rows);

/// Predicted class vectors (n x o) as n x m attributes.
Matrix<float> as_attributes(const Model& model, Matrix<float> rows, ThreadPool& pool);

/// Throws usage unless the classes were prepared for the model's present bank.
void check_prepared(const Model& model, const PreparedClasses& prepared);

}  // namespace parsnets
