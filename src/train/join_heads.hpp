#pragma once
// Two heads in one model: f₁ of class space and f₂ that predicts semantics, side by side on the same encoder, gates and
// prepared semantics. With ω the weight of the second,
//   score(x, c) = [cos(f₁ − μ₁, place of c) + ω·cos(f₂ − μ₂, b_c + correction)] / (1 + ω).

#include "parsnets/options.hpp"

namespace parsnets {

/// The options of the semantic head beside a model of class space with these (resolved) options: those that targets
/// semantics usually have, on the same features, encoder, gates, prepared semantics and prototype width.
TrainOptions semantic_head_options(const TrainOptions& options, const Dataset& data);

/// `classes` has targets classes, `semantics` targets semantics; both were fitted on the same samples, the second with
/// semantic_head_options() of the first. `weight` is ω > 0. Throws usage if the two have no common shape.
Model join_heads(Model classes, const Model& semantics, double weight);

}  // namespace parsnets
