#pragma once
// The closed form of class space from statistics alone, and validation problems: the classes of one group play the
// unseen ones.

#include <optional>

#include "features/statistics.hpp"
#include "parsnets/options.hpp"
#include "train/validation.hpp"

namespace parsnets {

/// How features are prepared for samples with these sums: scaled, centred and, for standardize (which needs statistics
/// with scaling none), divided by their deviation.
FeaturePreprocess feature_preprocess_of(const Statistics& statistics, FeatureScaling scaling);

/// One linear map, places and attribute head of the classes that have samples; no calibration yet. The classes of
/// `statistics` are those of `data`, in its order; of `data` only class names and semantics are read. Feature scaling
/// standardize needs statistics with scaling none.
Model fit_statistics(const Statistics& statistics, const Dataset& data, const ParsNetsOptions& options,
                     ThreadPool& pool);

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
