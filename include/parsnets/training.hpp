#pragma once
// Training: options in, a Model and its record out. Every choice that is not given is made on validation classes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/options.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// What is said of a run but not stored in the model, since it differs between machines.
struct TrainRun {
  double seconds = 0;               ///< of the whole call
  double flops = 0, bytes = 0;      ///< of the SVR's hot loops
  std::vector<double> svr_seconds;  ///< since the start of the last solve, one per entry of its trace in the record
  std::uint64_t peak_memory = 0;    ///< bytes of the process
};

/// Trains on the trainval samples of `data`. The same data, options and seed give the same bytes for any number of
/// threads (preset automatic: unless its time budget cuts the search). Throws usage for impossible options, bad_input
/// for unusable data, cancelled by `progress`.
Model train(const Dataset& data, const TrainOptions& options, ThreadPool& pool, ProgressObserver* progress = nullptr,
            TrainRun* run = nullptr);

/// Removes the files that training with this checkpoint has left. Never throws: left-over ones do no harm.
void remove_checkpoints(const std::filesystem::path& checkpoint);

}  // namespace parsnets
