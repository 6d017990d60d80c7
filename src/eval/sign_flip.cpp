// Randomisation test with the class as the unit. With a_c and b_c the accuracies of two methods on class c, the
// hypothesis is that (a_c, b_c) and (b_c, a_c) are equally likely in every class, independently. The statistic is the
// difference of a figure,
//   D(σ) = F(a^σ) − F(b^σ),   where σ_c = 1 exchanges a_c and b_c,
// with F the mean over the unseen classes (ZSL, U), over the seen classes (S), or the harmonic mean of both (H). For a
// mean this flips the signs of the differences: D(σ) = 1/K Σ_c (−1)^σ_c (a_c − b_c). With m classes in which a_c and
// b_c differ (in others the exchange changes nothing),
//   p = #{σ in {0,1}^m : |D(σ)| >= |D(0)|} / 2^m                    if m <= 14,
//   p = (1 + #{of R random σ : |D(σ)| >= |D(0)|}) / (1 + R)         otherwise.

#include <cmath>

#include "base/rng.hpp"
#include "eval/outcomes.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostEnumerated = 14;
/// Equal statistics may differ by rounding; in points.
constexpr double kTolerance = 1e-9;

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
      if (std::abs(pair.a - pair.b) > kTolerance * share)
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
  const double threshold = std::abs(observed.difference(figure)) - kTolerance;

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
