#include "parsnets/uncertainty.hpp"

#include <cstddef>

#include "capi/small_handles.hpp"
#include "eval/random_outcomes.hpp"

namespace parsnets::test {

namespace {

parsnets_outcomes view_of(const Outcomes& o) {
  parsnets_outcomes out{};
  out.size = sizeof out;
  out.unseen_labels = o.unseen_labels.data();
  out.seen_labels = o.seen_labels.data();
  out.zsl = o.zsl.data();
  out.unseen = o.unseen.data();
  out.seen = o.seen.data();
  out.unseen_samples = o.unseen_labels.size();
  out.seen_samples = o.seen_labels.size();
  out.runs = o.runs;
  return out;
}

void expect_same(const parsnets_interval& found, const BootstrapInterval& expected) {
  EXPECT_EQ(found.estimate, expected.estimate);
  EXPECT_EQ(found.low, expected.low);
  EXPECT_EQ(found.high, expected.high);
}

void expect_same(const parsnets_difference& found, const PairedDifference& expected) {
  expect_same(found.difference, expected.difference);
  EXPECT_EQ(found.p, expected.p);
  EXPECT_EQ(found.exact, expected.exact ? 1 : 0);
}

}  // namespace

TEST(CApiUncertainty, GivesTheIntervalsAndComparisonsOfTheLibrary) {
  const auto a = random_outcomes(1, 9, 7, 0.6, 0.3, 2), b = random_outcomes(2, 9, 7, 0.5, 0.3);
  const auto first = view_of(a), second = view_of(b);
  ThreadPool pool(1);
  parsnets_uncertainty_options options = PARSNETS_UNCERTAINTY_OPTIONS_INIT;
  for (const auto* given : {static_cast<const parsnets_uncertainty_options*>(nullptr), &std::as_const(options)}) {
    if (given != nullptr) options.seed = 5, options.replicates = 100, options.draws = 50;
    const UncertaintyOptions same = given == nullptr ? UncertaintyOptions{} : UncertaintyOptions{100, 50, 5};
    parsnets_intervals intervals{};
    intervals.size = sizeof intervals;
    ASSERT_OK(parsnets_bootstrap_intervals(&first, given, 2, &intervals));
    const auto expected = bootstrap_intervals(a, pool, same);
    expect_same(intervals.zsl, expected.zsl);
    expect_same(intervals.u, expected.u);
    expect_same(intervals.s, expected.s);
    expect_same(intervals.h, expected.h);
    parsnets_comparison comparison{};
    comparison.size = sizeof comparison;
    ASSERT_OK(parsnets_compare_paired(&first, &second, given, 2, &comparison));
    const auto difference = compare_paired(a, b, pool, same);
    expect_same(comparison.zsl, difference.zsl);
    expect_same(comparison.u, difference.u);
    expect_same(comparison.s, difference.s);
    expect_same(comparison.h, difference.h);
  }
}

TEST(CApiUncertainty, WithoutSeenSamplesThereIsZslAlone) {
  const auto a = random_outcomes(1, 9, 7, 0.6, 0.3);
  auto zsl = view_of(a);
  zsl.seen_samples = 0;
  zsl.seen_labels = nullptr;
  zsl.unseen = zsl.seen = nullptr;
  parsnets_comparison comparison{};
  comparison.size = sizeof comparison;
  ASSERT_OK(parsnets_compare_paired(&zsl, &zsl, nullptr, 1, &comparison));
  EXPECT_EQ(comparison.zsl.p, 1);
  EXPECT_EQ(comparison.h.p, 0);
}

TEST(CApiUncertainty, RefusesWhatCannotBeCounted) {
  const auto a = random_outcomes(1, 4, 3, 0.6, 0.3);
  parsnets_intervals intervals{};
  intervals.size = sizeof intervals;
  auto bad = view_of(a);
  bad.zsl = nullptr;
  EXPECT_EQ(parsnets_bootstrap_intervals(&bad, nullptr, 1, &intervals), PARSNETS_USAGE);
  bad = view_of(a);
  bad.reserved = 1;
  EXPECT_EQ(parsnets_bootstrap_intervals(&bad, nullptr, 1, &intervals), PARSNETS_USAGE);
  bad = view_of(a);
  bad.runs = 0;
  EXPECT_EQ(parsnets_bootstrap_intervals(&bad, nullptr, 1, &intervals), PARSNETS_BAD_INPUT);
  const auto good = view_of(a);
  parsnets_uncertainty_options options = PARSNETS_UNCERTAINTY_OPTIONS_INIT;
  options.replicates = 3;
  EXPECT_EQ(parsnets_bootstrap_intervals(&good, &options, 1, &intervals), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_bootstrap_intervals(&good, nullptr, 1, nullptr), PARSNETS_USAGE);
  auto fewer = view_of(a);
  --fewer.unseen_samples;
  parsnets_comparison comparison{};
  comparison.size = sizeof comparison;
  EXPECT_EQ(parsnets_compare_paired(&good, &fewer, nullptr, 1, &comparison), PARSNETS_BAD_INPUT);
}

}  // namespace parsnets::test
