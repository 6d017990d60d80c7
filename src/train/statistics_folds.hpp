#pragma once
// Validation problems made from statistics alone: the classes of one group play the unseen ones.

#include <optional>

#include "features/statistics.hpp"
#include "train/validation.hpp"

namespace parsnets {

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
