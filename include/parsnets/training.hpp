#pragma once
// Training: options in, a Model and its record out. Every choice that is not given is made on validation classes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/options.hpp"
#include "parsnets/processes.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/statistics.hpp"
#include "parsnets/threads.hpp"

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

/// Trains on the trainval samples of `data`. The same data, options and seed give the same bytes for any number of
/// threads (preset automatic: unless its time budget cuts the search). Throws usage for impossible options, bad_input
/// for unusable data, cancelled by `progress`.
///
/// With a memory limit that the samples do not fit, they are prepared in blocks whenever they are needed, and features
/// of a mapped file stay on disk. With `processes` every process calls train() with the same data, options and seed;
/// each takes a part of the samples, and all get the same model: closed forms up to rounding the one of a single
/// process.
Model train(const Dataset& data, const TrainOptions& options, ThreadPool& pool, ProgressObserver* progress = nullptr,
            TrainRun* run = nullptr, Processes* processes = nullptr);

/// Sums over the trainval samples of a folder in one pass. Features in a C-ordered .npy or .npz are read in blocks, so
/// that memory does not grow with their number; .csv and .mat files and Fortran-ordered arrays are loaded whole. With
/// a `memory_limit` (bytes, 0: none), throws usage before the pass if it does not fit. Throws as load_dataset.
Statistics collect_statistics(const std::filesystem::path& folder, const LoadOptions& load,
                              const StatisticsOptions& options, ThreadPool& pool, ProgressObserver* progress = nullptr,
                              std::uint64_t memory_limit = 0);

/// The options with every empty field filled in for training from statistics. Throws usage for options that need
/// samples, naming all of them.
TrainOptions resolve_options(const TrainOptions& options, const Dataset& data, const Statistics& statistics);

/// Trains the closed form of class space from statistics: one linear map, no gates, no refinement. `data` gives class
/// names, semantics and split; its features are not read. Gamma and temperature are chosen on groups of classes that
/// are held out in turn; without groups or kept rows there is no calibration, and the record has a warning. `parts`
/// says where the statistics come from. Throws as train(), and bad_input for classes that `data` lacks or has as
/// unseen.
Model train_from_statistics(const Statistics& statistics, const Dataset& data, const TrainOptions& options,
                            ThreadPool& pool, ProgressObserver* progress = nullptr, TrainRun* run = nullptr,
                            std::vector<StatisticsPart> parts = {});

/// Removes the files that training with this checkpoint has left. Never throws: left-over ones do no harm.
void remove_checkpoints(const std::filesystem::path& checkpoint);

}  // namespace parsnets
