#pragma once
// Whether a data set is the one a model was trained on.

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// Compares the checksums of the split's lists, the dimensions of the features and the attributes of the seen classes
/// with what the model's record and bank say. Throws bad_input naming what differs.
void require_training_data(const Model& model, const Dataset& data);

}  // namespace parsnets
