#pragma once
// Copies of models, which are move-only.

#include "parsnets/model.hpp"

namespace parsnets {

/// Shares the weights, which nothing changes once a model is made. What is learned in the field is copied.
Model shared_copy(const Model& model);
/// Depends on no file any more: one that is written over would change a mapped model, or end the process.
Model copy_in_memory(const Model& model);

}  // namespace parsnets
