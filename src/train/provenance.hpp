#pragma once
// What a training record keeps of its data and its options, and the way back: enough to check and to repeat it.

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

/// Assigns what was asked to options that are at their defaults, and the seeds. `load.split` is the file's name.
/// `name` is the model's, for errors. Throws bad_input for a record without a request, and for options that this
/// version does not know.
void repeat_request(const TrainRecord& record, const std::string& name, TrainOptions& options, LoadOptions& load);

/// Throws one bad_input that names everything in which `found`, the data in `folder`, is not what the record says of
/// the data. The name of the data set may differ; so may those of features and semantics for a request on arrays.
void check_same_data(const TrainRecord& record, const DataProvenance& found, const std::string& folder);

/// Compares the checksums of the split's lists, the dimensions of the features and the attributes of the seen classes
/// with what the model's record and bank say. Throws bad_input naming what differs.
void require_training_data(const Model& model, const Dataset& data);

}  // namespace parsnets
