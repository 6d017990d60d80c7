#pragma once
// Where the training samples of a fit are.

#include <cstddef>

#include "parsnets/processes.hpp"

namespace parsnets {

struct SamplePlace {
  Processes* group = nullptr;  ///< processes that have a part of the samples each; null: this one has all
  bool streamed = false;       ///< prepared in blocks whenever they are needed; the features may be larger than memory
  std::size_t block_rows = 4096;  ///< samples of a block
  bool keeps_encodings = false;   ///< streamed: encodings and open networks stay in memory

  std::size_t size() const { return group == nullptr ? 1 : group->size(); }  ///< number of processes
};

}  // namespace parsnets
