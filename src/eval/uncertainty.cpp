// How far results would move with other test classes and samples.

#include "eval/uncertainty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint32_t kMostRuns = 65535;

/// The results, in percent where they are numbers.
enum Figure : std::size_t { kZsl, kU, kS, kH };
using Figures = std::array<double, 4>;

/// In how many runs a sample was right: ZSL and GZSL of the first method, ZSL and GZSL of the second.
using OutcomeRow = std::array<std::uint16_t, 4>;
/// Mean over the classes of a side, in percent, of each column of OutcomeRow.
using SideMeans = std::array<double, 4>;

/// The samples of the unseen or of the seen classes.
struct OutcomeSide {
  std::vector<std::size_t> first;  ///< row at which each class begins, and the number of rows
  std::vector<OutcomeRow> rows;    ///< by class
  std::array<double, 4> scale{};   ///< per column: a class of n samples has scale · sum / n percent

  std::size_t classes() const { return first.size() - 1; }
  std::size_t samples(std::size_t k) const { return first[k + 1] - first[k]; }
};

/// Two methods on the same samples.
struct PairedOutcomes {
  bool has_gzsl = false;
  OutcomeSide unseen, seen;
};

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

namespace {

/// Throws bad_input unless the outcomes are whole and, with a second method, of the same samples, usage for options out
/// of range. Without a second method (nullptr) its place is taken by one that is always wrong: its figures are 0, so
/// that differences are the figures of the first.
PairedOutcomes paired(const Outcomes& first, const Outcomes* second, const UncertaintyOptions& options) {
  if (options.replicates < 40 || options.draws < 1)
    throw Error(ErrorCode::usage,
                fmt::format("uncertainty: expected at least 40 replicates and 1 draw, found {} and {}",
                            options.replicates, options.draws));
  check(first);
  if (second != nullptr) {
    check(*second);
    if (first.unseen_labels != second->unseen_labels || first.seen_labels != second->seen_labels)
      throw Error(BadInput{"outcomes", "labels", "those of the other method", "others",
                           "compare methods on the same test samples"});
  }
  const auto side = [&](const std::vector<std::int32_t>& labels, const std::vector<std::uint16_t> Outcomes::*zsl,
                        const std::vector<std::uint16_t> Outcomes::*gzsl) {
    std::vector<std::size_t> order(labels.size());  // by class
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return labels[i]; });
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

/// Over classes draw(K, 0 … K − 1), and of each over samples draw(n, 0 … n − 1).
template <class Draw>
SideMeans means_of(const OutcomeSide& side, Draw draw) {
  SideMeans means{};
  for (std::size_t d = 0; d < side.classes(); ++d) {
    const std::size_t k = draw(side.classes(), d), n = side.samples(k);
    const OutcomeRow* rows = side.rows.data() + side.first[k];
    std::array<std::uint64_t, 4> sum{};
    for (std::size_t i = 0; i < n; ++i) {
      const OutcomeRow& row = rows[draw(n, i)];
      for (std::size_t j = 0; j < 4; ++j) sum[j] += row[j];
    }
    for (std::size_t j = 0; j < 4; ++j)
      means[j] += side.scale[j] * static_cast<double>(sum[j]) / static_cast<double>(n);
  }
  for (double& m : means) m /= static_cast<double>(std::max<std::size_t>(1, side.classes()));
  return means;
}

/// First minus second.
template <class Draw>
Figures differences(const PairedOutcomes& outcomes, Draw draw) {
  const SideMeans unseen = means_of(outcomes.unseen, draw), seen = means_of(outcomes.seen, draw);
  return {unseen[0] - unseen[2], unseen[1] - unseen[3], seen[1] - seen[3],
          harmonic_mean(unseen[1], seen[1]) - harmonic_mean(unseen[3], seen[3])};
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
      replicates[b] = differences(outcomes, [&](std::size_t n, std::size_t) { return rng.below(n); });
    }
  });
  const Figures estimate = differences(outcomes, [](std::size_t, std::size_t i) { return i; });
  std::array<BootstrapInterval, 4> intervals;
  std::vector<double> values(replicates.size());
  for (std::size_t f = 0; f < 4; ++f) {
    std::ranges::transform(replicates, values.begin(), [&](const Figures& figures) { return figures[f]; });
    std::ranges::sort(values);
    intervals[f] = {estimate[f], percentile(values, 0.025), percentile(values, 0.975)};
  }
  return intervals;
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

/// Sets p of the result, and whether it is exact.
void test(const Problem& problem, Figure figure, ThreadPool& pool, const UncertaintyOptions& options,
          PairedDifference& result) {
  const auto& pairs = problem.pairs;
  if (pairs.empty()) return;
  const bool exact = result.exact = pairs.size() <= kMostEnumerated;
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
  const auto total = static_cast<double>(std::accumulate(extreme.begin(), extreme.end(), std::size_t{0}));
  result.p = exact ? total / static_cast<double>(count) : (1 + total) / (1 + static_cast<double>(count));
}

template <class T>
PerResult<T> per_result(const std::array<T, 4>& figures, bool has_gzsl) {
  if (!has_gzsl) return {figures[kZsl], false, {}, {}, {}};
  return {figures[kZsl], true, figures[kU], figures[kS], figures[kH]};
}

}  // namespace

EvaluationIntervals bootstrap_intervals(const Outcomes& outcomes, ThreadPool& pool, const UncertaintyOptions& options) {
  const PairedOutcomes alone = paired(outcomes, nullptr, options);
  return per_result(intervals_of(alone, pool, options), alone.has_gzsl);
}

PairedComparison compare_paired(const Outcomes& first, const Outcomes& second, ThreadPool& pool,
                                const UncertaintyOptions& options) {
  const PairedOutcomes both = paired(first, &second, options);
  const auto intervals = intervals_of(both, pool, options);
  std::array<PairedDifference, 4> results;
  for (const Figure figure : {kZsl, kU, kS, kH}) {
    results[figure].difference = intervals[figure];
    if (figure == kZsl || both.has_gzsl) test(problem_of(both, figure), figure, pool, options, results[figure]);
  }
  return per_result(results, both.has_gzsl);
}

}  // namespace parsnets
