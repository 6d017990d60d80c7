// How far results would move with other test classes and samples.

#include "eval/uncertainty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint32_t kMostRuns = 65535;

void check_count(std::size_t found, std::size_t expected, const char* field) {
  if (found != expected)
    throw Error(BadInput{"outcomes", field, fmt::format("{}, one per test sample", expected), std::to_string(found),
                         "pass the outcomes of all test samples"});
}

void check(const Outcomes& outcomes) {
  if (outcomes.runs < 1 || outcomes.runs > kMostRuns)
    throw Error(BadInput{"outcomes", "runs", fmt::format("1 to {}", kMostRuns), std::to_string(outcomes.runs),
                         "pass fewer runs"});
  if (outcomes.unseen_labels.empty())
    throw Error(BadInput{"outcomes", "labels", "at least one test sample", "none", "check the split"});
  const bool gzsl = !outcomes.seen_labels.empty();
  check_count(outcomes.zsl.size(), outcomes.unseen_labels.size(), "zsl");
  check_count(outcomes.unseen.size(), gzsl ? outcomes.unseen_labels.size() : 0, "unseen");
  check_count(outcomes.seen.size(), outcomes.seen_labels.size(), "seen");
  for (const auto* values : {&outcomes.zsl, &outcomes.unseen, &outcomes.seen})
    for (const auto v : *values)
      if (v > outcomes.runs)
        throw Error(BadInput{"outcomes", "runs in which a sample was right", fmt::format("at most {}", outcomes.runs),
                             std::to_string(v), "count each run once"});
}

/// The samples by class, in their order within it.
std::vector<std::size_t> by_class(const std::vector<std::int32_t>& labels) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
  return order;
}

}  // namespace

Outcomes outcomes_of(const Dataset& data, std::span<const Correctness> runs) {
  if (runs.empty() || runs.size() > kMostRuns)
    throw Error(BadInput{data.name, "runs", fmt::format("1 to {}", kMostRuns), std::to_string(runs.size()),
                         "pass each evaluation once"});
  Outcomes out;
  out.runs = static_cast<std::uint32_t>(runs.size());
  out.unseen_labels = labels_of(data, data.split.test_unseen);
  out.seen_labels = labels_of(data, data.split.test_seen);
  const auto add = [](const std::vector<std::uint8_t>& from, std::size_t samples, const char* field,
                      std::vector<std::uint16_t>& to) {
    check_count(from.size(), samples, field);
    to.resize(samples, 0);
    for (std::size_t i = 0; i < samples; ++i) to[i] = static_cast<std::uint16_t>(to[i] + (from[i] != 0));
  };
  const std::size_t seen = out.seen_labels.size(), unseen = out.unseen_labels.size();
  for (const auto& run : runs) {
    add(run.zsl, unseen, "zsl", out.zsl);
    add(run.unseen, seen > 0 ? unseen : 0, "unseen", out.unseen);
    add(run.seen, seen, "seen", out.seen);
  }
  return out;
}

PairedOutcomes paired(const Outcomes& first, const Outcomes* second) {
  check(first);
  if (second != nullptr) {
    check(*second);
    if (first.unseen_labels != second->unseen_labels || first.seen_labels != second->seen_labels)
      throw Error(BadInput{"outcomes", "labels", "those of the other method", "others",
                           "compare methods on the same test samples"});
  }
  const auto side = [&](const std::vector<std::int32_t>& labels, const std::vector<std::uint16_t> Outcomes::*zsl,
                        const std::vector<std::uint16_t> Outcomes::*gzsl) {
    const auto order = by_class(labels);
    OutcomeSide out;
    for (std::size_t r = 0; r < order.size(); ++r)
      if (r == 0 || labels[order[r]] != labels[order[r - 1]]) out.first.push_back(r);
    out.first.push_back(order.size());
    out.rows.assign(order.size(), OutcomeRow{});
    const Outcomes* methods[] = {&first, second};
    for (std::size_t m = 0; m < 2; ++m) {
      if (methods[m] == nullptr) continue;
      out.scale[2 * m] = out.scale[2 * m + 1] = 100.0 / methods[m]->runs;
      for (std::size_t r = 0; r < order.size(); ++r) {
        if (zsl != nullptr) out.rows[r][2 * m] = (methods[m]->*zsl)[order[r]];
        if (!(methods[m]->*gzsl).empty()) out.rows[r][2 * m + 1] = (methods[m]->*gzsl)[order[r]];
      }
    }
    return out;
  };
  return {!first.seen_labels.empty(), side(first.unseen_labels, &Outcomes::zsl, &Outcomes::unseen),
          side(first.seen_labels, nullptr, &Outcomes::seen)};
}

void check_options(const UncertaintyOptions& options) {
  if (options.replicates < 40 || options.draws < 1)
    throw Error(ErrorCode::usage,
                fmt::format("uncertainty: expected at least 40 replicates and 1 draw, found {} and {}",
                            options.replicates, options.draws));
}

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

// Randomisation test with the class as the unit. With a_c and b_c the accuracies of two methods on class c, the
// hypothesis is that (a_c, b_c) and (b_c, a_c) are equally likely in every class, independently. The statistic is the
// difference of a figure,
//   D(σ) = F(a^σ) − F(b^σ),   where σ_c = 1 exchanges a_c and b_c,
// with F the mean over the unseen classes (ZSL, U), over the seen classes (S), or the harmonic mean of both (H). For a
// mean this flips the signs of the differences: D(σ) = 1/K Σ_c (−1)^σ_c (a_c − b_c). With m classes in which a_c and
// b_c differ (in others the exchange changes nothing),
//   p = #{σ in {0,1}^m : |D(σ)| >= |D(0)|} / 2^m                    if m <= 14,
//   p = (1 + #{of R random σ : |D(σ)| >= |D(0)|}) / (1 + R)         otherwise.

namespace {

constexpr std::size_t kMostEnumerated = 14;
/// Equal statistics may differ by rounding; in points.
constexpr double kRounding = 1e-9;

/// The share of one class in the mean of its side, in percent, for both methods.
struct ClassPair {
  bool seen = false;
  double a = 0, b = 0;
};

/// Means over the unseen and over the seen classes, for both methods.
struct Sums {
  double a[2] = {0, 0}, b[2] = {0, 0};

  void add(const ClassPair& pair, bool exchanged) {
    a[pair.seen] += exchanged ? pair.b : pair.a;
    b[pair.seen] += exchanged ? pair.a : pair.b;
  }
  double difference(Figure figure) const {
    if (figure == kH) return harmonic_mean(a[0], a[1]) - harmonic_mean(b[0], b[1]);
    return a[figure == kS] - b[figure == kS];
  }
};

/// The classes that a figure depends on: those in which the methods differ, and the sums over the others.
struct Problem {
  std::vector<ClassPair> pairs;
  Sums equal;

  void add_side(const OutcomeSide& side, bool seen, std::size_t column) {
    for (std::size_t k = 0; k < side.classes(); ++k) {
      std::uint64_t a = 0, b = 0;
      for (std::size_t r = side.first[k]; r < side.first[k + 1]; ++r) {
        a += side.rows[r][column];
        b += side.rows[r][column + 2];
      }
      const double share = 1 / (static_cast<double>(side.samples(k)) * static_cast<double>(side.classes()));
      const ClassPair pair{seen, side.scale[column] * static_cast<double>(a) * share,
                           side.scale[column + 2] * static_cast<double>(b) * share};
      if (std::abs(pair.a - pair.b) > kRounding * share)
        pairs.push_back(pair);
      else
        equal.add(pair, false);
    }
  }
};

Problem problem_of(const PairedOutcomes& outcomes, Figure figure) {
  Problem problem;
  if (figure != kS) problem.add_side(outcomes.unseen, false, figure == kZsl ? 0 : 1);
  if (figure == kS || figure == kH) problem.add_side(outcomes.seen, true, 1);
  return problem;
}

SignFlip test(const Problem& problem, Figure figure, ThreadPool& pool, const UncertaintyOptions& options) {
  const auto& pairs = problem.pairs;
  if (pairs.empty()) return {1, true};
  const bool exact = pairs.size() <= kMostEnumerated;
  const std::size_t count = exact ? std::size_t{1} << pairs.size() : static_cast<std::size_t>(options.draws);
  Sums observed = problem.equal;
  for (const auto& pair : pairs) observed.add(pair, false);
  const double threshold = std::abs(observed.difference(figure)) - kRounding;

  constexpr std::size_t kGrain = 256, kBits = 64;
  constexpr std::uint64_t kStreams = std::uint64_t{1} << 32;  // those below are the bootstrap's
  std::vector<std::size_t> extreme(ThreadPool::chunk_count(count, kGrain), 0);
  pool.parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    for (std::size_t i = begin; i < end; ++i) {
      Rng rng(options.seed, kStreams + i);
      Sums sums = problem.equal;
      std::uint64_t bits = i;
      for (std::size_t k = 0; k < pairs.size(); ++k, bits >>= 1) {
        if (!exact && k % kBits == 0) bits = rng.next();
        sums.add(pairs[k], bits & 1);
      }
      extreme[chunk] += std::abs(sums.difference(figure)) >= threshold;
    }
  });
  std::size_t total = 0;
  for (const auto n : extreme) total += n;
  return {exact ? static_cast<double>(total) / static_cast<double>(count)
                : (1 + static_cast<double>(total)) / (1 + static_cast<double>(count)),
          exact};
}

}  // namespace

std::array<SignFlip, 4> sign_flip_test(const PairedOutcomes& outcomes, ThreadPool& pool,
                                       const UncertaintyOptions& options) {
  std::array<SignFlip, 4> results;
  for (const Figure figure : {kZsl, kU, kS, kH})
    if (figure == kZsl || outcomes.has_gzsl)
      results[figure] = test(problem_of(outcomes, figure), figure, pool, options);
  return results;
}

}  // namespace parsnets
