// Two-level percentile bootstrap. A side (the unseen or the seen classes) has K classes; class c has n_c samples, and
// x_ci is the share of runs in which sample i of it was right. Its figure is the mean over classes of means over
// samples:
//   A = 100/K Σ_c 1/n_c Σ_i x_ci.
// A replicate draws K classes with replacement, and for each of them, every time it is drawn anew, n_c of its samples
// with replacement:
//   A* = 100/K Σ_k 1/n_{c_k} Σ_j x_{c_k, i_kj},   c_k uniform over classes, i_kj uniform over the samples of c_k.
// ZSL and U are of the same draws; those of S are independent of them; H* = 2 U* S* / (U* + S*). Two methods are
// compared on the same draws: D* = A*_first − A*_second. The interval reaches from percentile 2.5 to percentile 97.5 of
// the B replicates, interpolated: of sorted values v_0 ... v_{B−1}, the percentile q lies at place q (B − 1).
// Drawing classes accounts for the noise of their samples once already, so intervals are wide rather than narrow where
// classes have few samples; with few classes the percentiles are narrow rather than wide.

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "eval/outcomes.hpp"

namespace parsnets {

namespace {

SideMeans means_of(const OutcomeSide& side) {
  SideMeans means{};
  for (std::size_t k = 0; k < side.classes(); ++k) {
    std::array<std::uint64_t, 4> sum{};
    for (std::size_t r = side.first[k]; r < side.first[k + 1]; ++r)
      for (std::size_t j = 0; j < 4; ++j) sum[j] += side.rows[r][j];
    for (std::size_t j = 0; j < 4; ++j)
      means[j] += side.scale[j] * static_cast<double>(sum[j]) / static_cast<double>(side.samples(k));
  }
  for (double& m : means) m /= static_cast<double>(std::max<std::size_t>(1, side.classes()));
  return means;
}

SideMeans drawn_means(const OutcomeSide& side, Rng& rng) {
  SideMeans means{};
  for (std::size_t d = 0; d < side.classes(); ++d) {
    const std::size_t k = rng.below(side.classes()), n = side.samples(k);
    const OutcomeRow* rows = side.rows.data() + side.first[k];
    std::array<std::uint64_t, 4> sum{};
    for (std::size_t i = 0; i < n; ++i) {
      const OutcomeRow& row = rows[rng.below(n)];
      for (std::size_t j = 0; j < 4; ++j) sum[j] += row[j];
    }
    for (std::size_t j = 0; j < 4; ++j)
      means[j] += side.scale[j] * static_cast<double>(sum[j]) / static_cast<double>(n);
  }
  for (double& m : means) m /= static_cast<double>(std::max<std::size_t>(1, side.classes()));
  return means;
}

double percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::array<BootstrapInterval, 4> intervals_of(const PairedOutcomes& outcomes, ThreadPool& pool,
                                              const UncertaintyOptions& options) {
  std::vector<Figures> replicates(static_cast<std::size_t>(options.replicates));
  pool.parallel_for(replicates.size(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t b = begin; b < end; ++b) {
      Rng rng(options.seed, b);
      const SideMeans unseen = drawn_means(outcomes.unseen, rng), seen = drawn_means(outcomes.seen, rng);
      replicates[b] = difference_of(unseen, seen);
    }
  });
  const Figures estimate = difference_of(means_of(outcomes.unseen), means_of(outcomes.seen));
  std::array<BootstrapInterval, 4> intervals;
  std::vector<double> values(replicates.size());
  for (std::size_t f = 0; f < 4; ++f) {
    std::ranges::transform(replicates, values.begin(), [&](const Figures& figures) { return figures[f]; });
    std::ranges::sort(values);
    intervals[f] = {estimate[f], percentile(values, 0.025), percentile(values, 0.975)};
  }
  return intervals;
}

}  // namespace

EvaluationIntervals bootstrap_intervals(const Outcomes& outcomes, ThreadPool& pool, const UncertaintyOptions& options) {
  check_options(options);
  const PairedOutcomes alone = paired(outcomes, nullptr);
  const auto intervals = intervals_of(alone, pool, options);
  if (!alone.has_gzsl) return {intervals[kZsl], false, {}, {}, {}};
  return {intervals[kZsl], true, intervals[kU], intervals[kS], intervals[kH]};
}

PairedComparison compare_paired(const Outcomes& first, const Outcomes& second, ThreadPool& pool,
                                const UncertaintyOptions& options) {
  check_options(options);
  const PairedOutcomes both = paired(first, &second);
  const auto intervals = intervals_of(both, pool, options);
  const auto tests = sign_flip_test(both, pool, options);
  const auto result = [&](Figure f) { return PairedDifference{intervals[f], tests[f].p, tests[f].exact}; };
  if (!both.has_gzsl) return {result(kZsl), false, {}, {}, {}};
  return {result(kZsl), true, result(kU), result(kS), result(kH)};
}

}  // namespace parsnets
