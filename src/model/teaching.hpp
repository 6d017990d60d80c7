#pragma once
// teach() for samples whose predictions are known.

#include "parsnets/model.hpp"

namespace parsnets {

/// Adds examples of class c of a model with targets classes; `f` is what predict() gave for them, n x o.
void teach_predicted(Model& model, std::size_t c, Matrix<float> f);

}  // namespace parsnets
