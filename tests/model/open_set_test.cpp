#include "parsnets/open_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"

namespace parsnets {
namespace {

Rejection some() {
  Rejection rejection;
  rejection.false_accept = 0.05;
  rejection.weights[0] = {1, 2, 3, 4, 5, 6, -6};
  rejection.weights[1] = {6, 5, 4, 3, 2, 1, 10};
  rejection.range[0].fill(-1);
  rejection.range[1].fill(1);
  rejection.thresholds = {3, 16};
  return rejection;
}

TEST(Rejection, TheScoreIsTheWeightedSumOfTheKindOfTheBestClass) {
  const Rejection rejection = some();
  const Evidence evidence{0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  EXPECT_FLOAT_EQ(rejection.known_score(evidence, false),
                  0.1f * 1 + 0.2f * 2 + 0.3f * 3 + 0.4f * 4 + 0.5f * 5 + 0.6f * 6 - 6);
  EXPECT_FLOAT_EQ(rejection.known_score(evidence, true),
                  0.1f * 6 + 0.2f * 5 + 0.3f * 4 + 0.4f * 3 + 0.5f * 2 + 0.6f * 1 + 10);
  EXPECT_FALSE(rejection.is_unknown(evidence, false));  // 3.1 is above 3
  EXPECT_TRUE(rejection.is_unknown(evidence, true));    // 15.6 is below 16
}

TEST(Rejection, ItIsWeakIfItHardlyTellsOrRejectsMostKnownSamples) {
  Model model;
  const auto weakness = [&](double rejected_seen, double rejected_unseen, double auroc) {
    auto& record = model.record.rejection.emplace();
    record.rejected_seen = rejected_seen;
    record.rejected_unseen = rejected_unseen;
    record.auroc = auroc;
    return weak_rejection(model);
  };
  EXPECT_EQ(weak_rejection(model), "");  // nothing is known of it
  EXPECT_EQ(weakness(50, 50, 61), "");
  EXPECT_EQ(
      weakness(40, 0, 60),
      "rejection hardly works for this model: on held-out classes it rejects 40 % of the samples of seen classes, "
      "with AUROC 60.0 (chance: 50)");
  EXPECT_NE(weakness(51, 30, 90).find("51 % of the samples of seen and 30 % of those of unseen"), std::string::npos);
  EXPECT_NE(weakness(20, 51, 90), "");
}

TEST(Rejection, EvidenceOutOfRangeIsUnknownHoweverHighItsScore) {
  const Rejection rejection = some();
  for (std::size_t i = 0; i < Evidence::kCount; ++i)
    for (const float value : {-1.1f, 1.1f, std::numeric_limits<float>::quiet_NaN()}) {
      Evidence evidence;
      float* fields[] = {&evidence.score,    &evidence.energy,  &evidence.length,
                         &evidence.distance, &evidence.outside, &evidence.fit};
      *fields[i] = value;
      EXPECT_EQ(rejection.known_score(evidence, true), std::numeric_limits<float>::lowest()) << Evidence::kNames[i];
      EXPECT_TRUE(rejection.is_unknown(evidence, true));
    }
}

TEST(Rejection, TheReasonNamesEvidenceOutOfRangeFirst) {
  Rejection rejection = some();
  rejection.typical.emplace();
  EXPECT_EQ(unknown_because(rejection, {.score = -1, .distance = 1.5f}, true),
            "it differs too much from its best class: distance 1.5, known samples have at most 1");
  EXPECT_EQ(unknown_because(rejection, {.length = -2}, false),
            "it has too little of what tells the classes apart: length -2, known samples have at least -1");
  EXPECT_EQ(unknown_because(rejection, {.length = 2}, false),
            "it has far more of what tells the classes apart: length 2, known samples have at most 1");
}

TEST(Rejection, TheReasonIsTheEvidenceThatTakesMostFromTheScore) {
  Rejection rejection = some();
  rejection.typical.emplace();
  (*rejection.typical)[1] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
  // Of a sample whose best class is seen the score weighs 6, fit weighs 1: 6·0.2 is more than 1·0.9.
  const Evidence evidence{0.3f, 0.5f, 0.5f, 0.5f, 0.5f, -0.4f};
  EXPECT_EQ(unknown_because(rejection, evidence, true),
            "it matches its best class too little: score 0.3, typical of known samples is 0.5");
  // Otherwise the score weighs 1, fit 6, and typical values are zero.
  EXPECT_EQ(unknown_because(rejection, evidence, false),
            "it shows the marks of its best class too weakly: fit -0.4, typical of known samples is 0");
}

TEST(Rejection, AReasonIsNotEvidenceThatSpeaksForTheSample) {
  Rejection rejection = some();
  rejection.weights[0] = {-5, 0, 0, 0, -1, 0, 1};  // a high score lowers the sum, and so does a part outside
  rejection.typical.emplace();
  EXPECT_EQ(unknown_because(rejection, {.score = 0.9f, .outside = 0.1f}, false),
            "too much of it is unlike anything the classes have: outside 0.1, typical of known samples is 0");
  const std::string together = "all evidence together is too weak: known score -3.5, accepted from 3";
  EXPECT_EQ(unknown_because(rejection, {.score = 0.9f}, false), together);
  rejection.typical.reset();
  EXPECT_EQ(unknown_because(rejection, {.score = 0.9f}, false), together);
}

TEST(Rejection, IsEmptyUntilCalibrated) {
  EXPECT_TRUE(Rejection().empty());
  EXPECT_FALSE(some().empty());
}

/// The largest of the values, or 0, that at least `needed` of them reach.
float slow_quantile(const std::vector<float>& values, std::size_t needed) {
  float largest = 0;
  for (const float t : values)
    if (std::ranges::count_if(values, [t](float v) { return v >= t; }) >= static_cast<std::ptrdiff_t>(needed))
      largest = std::max(largest, t);
  return largest;
}

/// ⌈(n+1)·percent/100⌉ in whole numbers.
std::size_t needed_of(std::size_t n, std::size_t percent) { return ((n + 1) * percent + 99) / 100; }

/// draw(c) gives a confidence of class c, the unseen one coming after the others.
template <class Draw>
PredictionSets drawn_sets(const std::vector<std::size_t>& samples, std::size_t unseen, const Draw& draw) {
  PredictionSets sets;
  for (std::size_t c = 0; c < samples.size(); ++c)
    for (std::size_t i = 0; i < samples[c]; ++i) {
      sets.seen.push_back(draw(c));
      sets.seen_classes.push_back(static_cast<std::uint32_t>(c));
    }
  for (std::size_t i = 0; i < unseen; ++i) sets.unseen.push_back(draw(samples.size()));
  std::ranges::sort(sets.unseen);
  return sets;
}

PredictionSets random_sets(const std::vector<std::size_t>& samples, std::size_t unseen, Rng& rng) {
  return drawn_sets(samples, unseen, [&](std::size_t) { return static_cast<float>(rng.below(40)) / 40; });  // with ties
}

/// P(X <= k) of X ~ Binomial(n, p).
double binomial_cdf(std::size_t k, std::size_t n, double p) {
  const auto count = static_cast<double>(n);
  double sum = 0;
  for (std::size_t i = 0; i <= k; ++i) {
    const auto x = static_cast<double>(i);
    sum += std::exp(std::lgamma(count + 1) - std::lgamma(x + 1) - std::lgamma(count - x + 1) + x * std::log(p) +
                    (count - x) * std::log1p(-p));
  }
  return sum;
}

constexpr std::size_t kDraws = 4000;

/// How many of kDraws samples of class `c` reach its threshold, anew calibrated each time. Confidences of class k are
/// uniform to the power k + 1.
std::size_t covered(std::size_t c, const std::vector<std::size_t>& samples, std::size_t unseen, double coverage) {
  Rng rng(7, c);
  const auto draw = [&](std::size_t k) { return static_cast<float>(std::pow(rng.uniform(), k + 1.0)); };
  std::vector<std::uint8_t> is_seen(samples.size() + 1, 1);
  is_seen.back() = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kDraws; ++i) {
    const PredictionSets sets = drawn_sets(samples, unseen, draw);
    count += draw(c) >= sets.thresholds(coverage, is_seen)[c];
  }
  return count;
}

/// A count that kDraws trials with probability p give.
void expect_binomial(std::size_t count, double p) {
  EXPECT_GT(binomial_cdf(count, kDraws, p), 1e-4) << count;
  EXPECT_LT(binomial_cdf(count, kDraws, p), 1 - 1e-4) << count;
}

TEST(PredictionSets, ThresholdsAreThoseOfBruteForce) {
  Rng rng(1);
  std::size_t own = 0, shared = 0, everything = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::size_t> samples(6);
    for (auto& n : samples) n = rng.below(rng.below(3) == 0 ? 120 : 30);
    samples[4] = samples[5] = 0;  // 4: seen without samples, 5: unseen
    const std::vector<std::uint8_t> is_seen{1, 1, 1, 1, 1, 0};
    const PredictionSets sets = random_sets(samples, rng.below(40), rng);
    for (const std::size_t percent : {50, 55, 80, 90, 95, 99}) {
      const auto found = sets.thresholds(static_cast<double>(percent) / 100, is_seen);
      ASSERT_EQ(found.size(), 6u);
      for (std::size_t c = 0; c < 6; ++c) {
        std::vector<float> values;
        for (std::size_t i = 0; i < sets.seen.size(); ++i)
          if (sets.seen_classes[i] == c) values.push_back(sets.seen[i]);
        if (c == 5)
          values = sets.unseen;
        else if ((values.size() + 1) * (100 - percent) >= 500)
          ++own;
        else
          ++shared, values = sets.seen;
        const std::size_t needed = needed_of(values.size(), percent);
        everything += needed > values.size();
        EXPECT_EQ(found[c], needed > values.size() ? 0.0f : slow_quantile(values, needed))
            << "class " << c << " at " << percent;
      }
    }
  }
  EXPECT_GT(own, 500u);
  EXPECT_GT(shared, 500u);
  EXPECT_GT(everything, 50u);
}

// With continuous confidences a sample is covered with probability ⌈(n+1)·coverage⌉/(n+1), whatever their distribution.
TEST(PredictionSets, ClassesWithEnoughSamplesHaveTheStatedCoverageEach) {
  const std::vector<std::size_t> samples{60, 79, 53};
  for (std::size_t c = 0; c < samples.size(); ++c) {
    const double n = static_cast<double>(samples[c]), exact = std::ceil((n + 1) * 0.9) / (n + 1);
    SCOPED_TRACE(c);
    expect_binomial(covered(c, samples, 10, 0.9), exact);
    EXPECT_GE(exact, 0.9);
  }
}

TEST(PredictionSets, PooledThresholdsHaveTheStatedCoverageOnSamplesLikeThosePooled) {
  const double exact = std::ceil(20 * 0.8) / 20;
  expect_binomial(covered(2, {30, 30}, 19, 0.8), exact);
  // A class with few samples that is harder than the others is covered less: no guarantee for each class.
  EXPECT_LT(binomial_cdf(covered(1, {200, 3}, 19, 0.8), kDraws, 0.8), 1e-4);
}

TEST(PredictionSets, AreMadeForCoveragesBetweenZeroAndOneAndTheClassesOfTheBank) {
  Rng rng(2);
  const PredictionSets sets = random_sets({5, 5, 5}, 5, rng);
  const std::vector<std::uint8_t> three(3, 1), two(2, 1);
  for (const double bad : {0.0, 1.0, -0.1, 1.5, std::nan("")}) EXPECT_THROW(sets.thresholds(bad, three), Error) << bad;
  EXPECT_THROW(sets.thresholds(0.9, two), Error);
  EXPECT_EQ(sets.thresholds(0.9, three).size(), 3u);
  EXPECT_TRUE(PredictionSets{}.empty());
  EXPECT_EQ(PredictionSets{}.thresholds(0.9, two), (std::vector<float>{0, 0})) << "every class";
}

}  // namespace
}  // namespace parsnets
