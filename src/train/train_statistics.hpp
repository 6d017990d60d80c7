#pragma once
// Training from statistics: sums over samples instead of samples.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "features/statistics.hpp"
#include "parsnets/training.hpp"
#include "train/train_run.hpp"

namespace parsnets {

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

}  // namespace parsnets
