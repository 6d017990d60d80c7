#pragma once
// Fits a baseline (solvers/baselines/linear_map.hpp): one linear map from features to class descriptions, or back.

#include "train/stages.hpp"

namespace parsnets {

/// Fits `model`, which has its classes already. Throws usage where a memory limit is too low, and for methods that need
/// all samples in the memory of one process where they are not.
void fit_baseline(Stages& stages, const TrainOptions& options, Model& model);

}  // namespace parsnets
