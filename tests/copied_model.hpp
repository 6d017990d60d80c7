#pragma once
// A copy of a model whose weights a test may change.

#include "model/prediction.hpp"

namespace parsnets::test {

inline Model copied_model(const Model& model) {
  Model copy = shared_copy(model);
  for (Matrix<float>* weights : {&copy.encoder.weights, &copy.gates.anchors, &copy.networks, &copy.shared,
                                 &copy.reverse, &copy.prototypes.support, &copy.prototypes.weights,
                                 &copy.attribute_head, &copy.classes.semantics, &copy.classes.means})
    *weights = Matrix<float>::copy_of(weights->view());
  return copy;
}

}  // namespace parsnets::test
