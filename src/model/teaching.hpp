#pragma once
// Learning in the field from samples whose predictions are known; `f` is what predict() gave for them, n x o.

#include "parsnets/field.hpp"

namespace parsnets {

/// Throws as adapt() for a model of another space and for no samples; `what` names them.
void check_field_samples(const Model& model, std::size_t samples, const char* what);
/// As adapt().
Adaptation adapt_predicted(Model& model, Matrix<float> f, const AdaptOptions& options, ThreadPool& pool);
/// As teach(), which throws for unknown names before it predicts.
std::size_t index_of_class(const Model& model, const std::string& name);
/// As add_class_by_examples().
void add_class_predicted(Model& model, const std::string& name, Matrix<float> f);
/// Adds examples of class c of a model with targets classes.
void teach_predicted(Model& model, std::size_t c, Matrix<float> f);

}  // namespace parsnets
