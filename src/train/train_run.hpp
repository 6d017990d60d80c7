#pragma once
// What training tells of a run beside the model.

#include <cstdint>
#include <vector>

namespace parsnets {

/// What is said of a run but not stored in the model, since it differs between machines.
struct TrainRun {
  double seconds = 0;               ///< of the whole call
  double flops = 0, bytes = 0;      ///< of the SVR's hot loops
  std::vector<double> svr_seconds;  ///< since the start of the last solve, one per entry of its trace in the record
  std::uint64_t peak_memory = 0;    ///< bytes of the process
  std::uint64_t bytes_sent = 0;     ///< that this process has put into collective calls
  bool streamed = false;            ///< samples were prepared in blocks, to keep the memory limit
};

}  // namespace parsnets
