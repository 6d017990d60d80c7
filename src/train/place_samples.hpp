#pragma once
// Decides where the samples of training are: in memory, or prepared in blocks whenever they are needed.

#include "parsnets/dataset.hpp"
#include "parsnets/options.hpp"
#include "train/sample_place.hpp"

namespace parsnets {

/// In memory unless options.run.memory_limit is too low for that and the options do not need all samples there. Blocks
/// are as large as the limit allows. Throws usage when a limit is too low for any block.
SamplePlace place_samples(const TrainOptions& resolved, const Dataset& data, Processes* processes);

/// Whether fits with these options need all samples in the memory of one process. Several processes that can hold all
/// of them make such a fit each.
bool needs_all_samples(const TrainOptions& resolved);
/// Whether samples of fits with these options can be prepared in blocks.
bool can_be_streamed(const TrainOptions& resolved);

}  // namespace parsnets
