#pragma once
// How far the results of an evaluation would move with other test classes and other test samples of them.
// All functions give the same result for any number of threads, and can be called from several threads.

#include <cstdint>
#include <span>
#include <vector>

#include "eval/metrics.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// In how many runs each test sample was predicted right. Runs of one method differ by seed; their results are averaged
/// sample by sample before anything else.
struct Outcomes {
  std::uint32_t runs = 1;                                ///< from 1 to 65535
  std::vector<std::int32_t> unseen_labels, seen_labels;  ///< classes of the samples of unseen and of seen classes
  std::vector<std::uint16_t> zsl;                        ///< per unseen label, among the unseen classes; at most `runs`
  std::vector<std::uint16_t> unseen, seen;               ///< per label, among all classes; both empty without GZSL
};
/// The outcomes of evaluations on the same split. Throws bad_input without a run, and for runs on other test samples.
Outcomes outcomes_of(const Dataset& data, std::span<const Correctness> runs);

/// How intervals and p-values are computed.
struct UncertaintyOptions {
  int replicates = 2000;   ///< of the bootstrap; at least 40, for there to be tails of 2.5 %
  int draws = 10000;       ///< of the randomisation test when there are too many classes to enumerate; at least 1
  std::uint64_t seed = 1;  ///< of both
};

/// A result in percent and its 95 % interval.
struct BootstrapInterval {
  double estimate = 0;       ///< on the test samples as they are
  double low = 0, high = 0;  ///< percentiles 2.5 and 97.5 of the replicates
};

/// One for each result.
template <class T>
struct PerResult {
  T zsl;                  ///< per class, among the unseen classes
  bool has_gzsl = false;  ///< otherwise the others are empty
  T u, s, h;              ///< among all classes
};

/// Intervals of one method. H is the harmonic mean of the averages of U and S over runs.
using EvaluationIntervals = PerResult<BootstrapInterval>;
/// Percentile bootstrap over classes, and over the samples of each class that was drawn. Throws bad_input for outcomes
/// whose sizes or values do not fit, usage for options out of range.
EvaluationIntervals bootstrap_intervals(const Outcomes& outcomes, ThreadPool& pool,
                                        const UncertaintyOptions& options = {});

/// The difference of one result between two methods.
struct PairedDifference {
  BootstrapInterval difference;  ///< in points
  double p = 1;                  ///< two-sided; of the hypothesis that which method is which makes no difference
  bool exact = true;             ///< p is enumerated, not drawn
};

/// Two methods on the same test samples: the first minus the second.
using PairedComparison = PerResult<PairedDifference>;
/// Paired bootstrap (both methods get the same classes and samples) and a randomisation test in which the methods
/// change places in whole classes. Throws as above, and bad_input for outcomes of other test samples.
PairedComparison compare_paired(const Outcomes& first, const Outcomes& second, ThreadPool& pool,
                                const UncertaintyOptions& options = {});

}  // namespace parsnets
