#pragma once
// Where the training samples of a fit are: prepared samples that stay in memory are one block; others are prepared
// block by block whenever they are needed.

#include <cstddef>

#include "base/processes.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/options.hpp"

namespace parsnets {

struct SamplePlace {
  Processes* group = nullptr;     ///< processes that have a part of the samples each; null: this one has all
  bool kept = true;               ///< prepared samples stay in memory; false: the features may be larger than memory
  std::size_t block_rows = 4096;  ///< samples of a block, where they are not kept
  bool keeps_encodings = false;   ///< encodings and active networks stay in memory, though samples do not

  std::size_t size() const { return group == nullptr ? 1 : group->size(); }  ///< number of processes
};

/// In memory unless options.run.memory_limit is too low for that and the options do not need all samples there. Blocks
/// are as large as the limit allows. Throws usage when a limit is too low for any block.
SamplePlace place_samples(const TrainOptions& resolved, const Dataset& data, Processes* processes);

/// Whether fits with these options need all samples in the memory of one process: the paper's networks, dap and
/// reverse-ridge do. Several processes that can hold all of them make such a fit each.
bool needs_all_samples(const MethodOptions& method);

}  // namespace parsnets
