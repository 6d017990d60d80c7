#pragma once
// The names of choices, as options, model files and reports spell them.

#include <string>
#include <utility>
#include <vector>

#include "parsnets/error.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

template <class Enum>
using Names = std::vector<std::pair<std::string, Enum>>;

inline const Names<FeatureScaling>& feature_scaling_names() {
  static const Names<FeatureScaling> names{{"none", FeatureScaling::none},
                                           {"l2", FeatureScaling::l2},
                                           {"sqrt-l2", FeatureScaling::sqrt_l2},
                                           {"standardize", FeatureScaling::standardize}};
  return names;
}
inline const Names<SemanticScaling>& semantic_scaling_names() {
  static const Names<SemanticScaling> names{{"none", SemanticScaling::none},
                                            {"l2", SemanticScaling::l2},
                                            {"centre-l2", SemanticScaling::centre_l2},
                                            {"standardize", SemanticScaling::standardize},
                                            {"binary", SemanticScaling::binary}};
  return names;
}
inline const Names<Similarity>& similarity_names() {
  static const Names<Similarity> names{
      {"cosine", Similarity::cosine}, {"dot", Similarity::dot}, {"euclidean", Similarity::euclidean}};
  return names;
}

template <class Enum>
const std::string& name_of(const Names<Enum>& names, Enum value) {
  for (const auto& [name, known] : names)
    if (known == value) return name;
  throw Error(ErrorCode::failure, "internal error: a choice without a name");
}

}  // namespace parsnets
