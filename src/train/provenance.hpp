#pragma once
// What a training record keeps of its data and its options: enough to check and to repeat it.

#include <string>

#include "features/statistics.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/options.hpp"

namespace parsnets {

/// Of training on samples: with a checksum of their features.
DataProvenance provenance(const Dataset& data);
/// Of training from statistics, where the data set's features are not read.
DataProvenance provenance(const Dataset& data, const Statistics& statistics, std::vector<StatisticsPart> parts);

/// The request that train() keeps. Of paths, only the name of a split file stays.
TrainingRequest request_of(const TrainOptions& options, const Dataset& data);

/// Compares the checksums of the split's lists, the dimensions of the features and the attributes of the seen classes
/// with what the model's record and bank say. Throws bad_input naming what differs.
void require_training_data(const Model& model, const Dataset& data);

}  // namespace parsnets
