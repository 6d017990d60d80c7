#pragma once
// Gamma for the classes of a model, from that of folds, which have fewer of them.

#include <cstdint>
#include <span>

#include "parsnets/dataset.hpp"
#include "parsnets/options.hpp"
#include "train/validation.hpp"

namespace parsnets {

/// The mean gamma of the folds times d / (mean of d over the folds): d, the mean over the seen classes of 1 − the
/// cosine to the nearest unseen one, says how far the descriptions of the classes lie apart. The more classes are
/// unseen, and the more alike they are to seen ones, the smaller is the difference of scores that gamma has to bridge.
/// `seen`: the classes that the model is trained on; all others are unseen. Without others gamma stays as it is.
double scale_gamma(double gamma, std::span<const Fold> folds, std::span<const std::int32_t> seen, const Dataset& data,
                   const SemanticOptions& options);

}  // namespace parsnets
