#pragma once
// Training from statistics: sums over samples instead of samples.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "features/statistics.hpp"
#include "parsnets/training.hpp"
#include "train/train_run.hpp"
#include "train/validation.hpp"

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

/// A validation problem: the classes of one group play the unseen ones.
struct StatisticsFold {
  Statistics fit;   ///< of the other groups, without the samples that test
  Dataset samples;  ///< the kept rows that test, and their labels
  Fold fold;        ///< rows of `samples`; fold.fit is empty
};

/// The fold that holds out a group: its kept rows test the unseen classes; of every other class, kept rows with at most
/// a fifth of its weight are taken out of the sums and test the seen ones. None when the group has no kept rows or
/// fewer than two classes are left.
std::optional<StatisticsFold> statistics_fold(const Statistics& statistics, std::size_t group, ThreadPool& pool);

}  // namespace parsnets
