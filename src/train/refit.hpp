#pragma once
// Fits a trained model again, to compare it with a variant of itself.

#include <cstdint>
#include <vector>

#include "parsnets/training.hpp"

namespace parsnets {

/// The options and the seed that a model was trained with, without checkpoints. Throws bad_input for damaged ones.
TrainOptions options_of(const Model& model);

/// A model with these options, fitted to the given rows of `data` without calibration.
Model refit(const TrainOptions& options, const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool,
            ProgressObserver* progress);

}  // namespace parsnets
