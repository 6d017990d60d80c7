#include "model/copy.hpp"

namespace parsnets {

namespace {

Matrix<float> copied(const Matrix<float>& matrix) { return Matrix<float>::copy_of(matrix.view()); }

/// A copy with `take(matrix)` for every matrix. Names every field, so that a new one does not compile until it is
/// copied, too.
template <class Take>
Model copy(const Model& model, const Take& take) {
  const auto& [dimensions, feature_preprocess, encoder, gates, see_encoding, direction, targets, networks, relu, shared,
               bias, reverse, semantic_preprocess, centre, similarity, prototypes, prior_samples, attribute_head,
               head_weight, field, classes, attribute_names, feature_names, gamma, temperature, rejection, sets,
               options, record] = model;
  const auto& [weights, error] = encoder;
  const auto& [kind, count, open, anchors] = gates;
  const auto& [support, prototype_weights, width] = prototypes;
  const auto& [names, seen, semantics, samples, means, taught, adapted, described, gamma_before] = classes;
  return {dimensions,
          feature_preprocess,
          {take(weights), error},
          {kind, count, open, take(anchors)},
          see_encoding,
          direction,
          targets,
          take(networks),
          relu,
          take(shared),
          bias,
          take(reverse),
          semantic_preprocess,
          centre,
          similarity,
          {take(support), take(prototype_weights), width},
          prior_samples,
          take(attribute_head),
          head_weight,
          field,
          {names,
           seen,
           take(semantics),
           samples,
           take(means),
           {taught.samples, copied(taught.sums)},  // teaching and adapting change these in place
           {adapted.samples, copied(adapted.sums)},
           described,
           gamma_before},
          attribute_names,
          feature_names,
          gamma,
          temperature,
          rejection,
          sets,
          options,
          record};
}

}  // namespace

Model shared_copy(const Model& model) {
  return copy(model, [](const Matrix<float>& m) { return m.share(); });
}

Model copy_in_memory(const Model& model) { return copy(model, copied); }

}  // namespace parsnets
