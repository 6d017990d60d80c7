#pragma once
// Predicted attributes in the scale in which classes are described.

#include <span>
#include <vector>

#include "parsnets/model.hpp"

namespace parsnets {

/// A model predicts attributes as it scales them for training. Of each attribute, the line through the seen classes
/// that leads back, by least squares: exact where scaling is one line for all classes.
class AttributeScale {
 public:
  explicit AttributeScale(const Model& model);
  /// m predicted attributes in place.
  void to_user(std::span<float> predicted) const;

 private:
  std::vector<float> slope_, offset_;  ///< m
};

}  // namespace parsnets
