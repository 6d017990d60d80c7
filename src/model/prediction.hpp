#pragma once
// Steps of prediction that explanations and the class bank share.

#include "parsnets/predictor.hpp"

namespace parsnets {

/// The class bank as scoring compares it, for callers that score often. Stale once the model changes.
struct PreparedClasses {
  Matrix<float> vectors;       ///< forward: C x o class vectors; reverse: C x h prototypes in the space of z
  std::vector<float> squares;  ///< C, squared lengths of the rows
  std::vector<float> lengths;  ///< C, targets classes: of the places in class space
};

/// Refers to both.
Predictor predictor_of(const Model& model, const PreparedClasses& prepared);

/// What is compared with class vectors: for cosine alone, subtracts μ from every row.
void centre_rows(const Model& model, MatrixView<float> rows);

/// Whether the semantics of a class say something.
bool is_described(const ClassBank& classes, std::size_t c);

/// Targets classes: the place of a class is own + predicted·(the place that its semantics predict), up to its length.
struct PlaceParts {
  double predicted = 1;     ///< from 0 to 1
  std::vector<double> own;  ///< o: of its training samples, its examples and unlabelled samples
};
/// `predicted` is the place that the semantics of class c predict, o values.
PlaceParts place_parts(const Model& model, std::size_t c, std::span<const double> predicted);

/// PlaceParts::predicted of a class.
float predicted_share(const Model& model, std::size_t c);

/// Predicted class vectors (n x o) as n x m attributes.
Matrix<float> as_attributes(const Model& model, Matrix<float> rows, ThreadPool& pool);

/// Throws usage unless the classes were prepared for the model's present bank.
void check_prepared(const Model& model, const PreparedClasses& prepared);

/// A copy of a model, which is move-only. Shares the weights, which nothing changes once a model is made. What is
/// learned in the field is copied.
Model shared_copy(const Model& model);

}  // namespace parsnets
