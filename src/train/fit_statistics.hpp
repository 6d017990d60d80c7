#pragma once
// The closed form of class space from statistics alone.

#include "features/statistics.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/options.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// How features are prepared for samples with these sums: scaled, centred and, for standardize (which needs statistics
/// with scaling none), divided by their deviation.
FeaturePreprocess feature_preprocess_of(const Statistics& statistics, FeatureScaling scaling);

/// One linear map, places and attribute head of the classes that have samples; no calibration yet. The classes of
/// `statistics` are those of `data`, in its order; of `data` only class names and semantics are read. Feature scaling
/// standardize needs statistics with scaling none.
Model fit_statistics(const Statistics& statistics, const Dataset& data, const ParsNetsOptions& options,
                     ThreadPool& pool);

}  // namespace parsnets
