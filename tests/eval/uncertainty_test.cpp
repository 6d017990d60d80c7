#include "eval/uncertainty.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "eval/random_outcomes.hpp"
#include "expect.hpp"
#include "small_training.hpp"

namespace parsnets::test {

namespace {

template <class T>
std::array<T, 4> figures_of(const PerResult<T>& results) {
  return {results.zsl, results.u, results.s, results.h};
}

void expect_estimates(const EvaluationIntervals& found, const std::array<double, 4>& expected) {
  for (std::size_t f = 0; f < 4; ++f) EXPECT_NEAR(figures_of(found)[f].estimate, expected[f], 1e-9) << f;
}

}  // namespace

TEST(Outcomes, EstimatesAreTheFiguresOfTheEvaluationsAveragedOverRuns) {
  const TrainedModel t("ridge"), other("eszsl");
  ThreadPool pool(1);
  const auto a = evaluate(t.model, t.data, pool), b = evaluate(other.model, t.data, pool);
  const auto of_one = bootstrap_intervals(outcomes_of(t.data, {&a.details->correct, 1}), pool);
  expect_estimates(of_one, {a.zsl.top1_per_class, a.gzsl.u, a.gzsl.s, a.gzsl.h});
  const Correctness runs[] = {a.details->correct, b.details->correct};
  const auto of_two = bootstrap_intervals(outcomes_of(t.data, runs), pool);
  const double u = (a.gzsl.u + b.gzsl.u) / 2, s = (a.gzsl.s + b.gzsl.s) / 2;
  EXPECT_NE(a.gzsl.u, b.gzsl.u);
  expect_estimates(of_two, {(a.zsl.top1_per_class + b.zsl.top1_per_class) / 2, u, s, 2 * u * s / (u + s)});
}

TEST(Outcomes, RunsOnOtherSamplesAndOutcomesThatAreNotWholeAreRefused) {
  const Dataset data = small_training_set();
  expect_error([&] { outcomes_of(data, {}); });
  Correctness run;
  run.zsl.resize(data.split.test_unseen.size());
  expect_error([&] { outcomes_of(data, {&run, 1}); }, "unseen");
  ThreadPool pool(1);
  const auto good = random_outcomes(1, 4, 3, 0.5, 0.2);
  const auto expect_refused = [&](auto&& change) {
    auto bad = good;
    change(bad);
    expect_error([&] { bootstrap_intervals(bad, pool); });
    expect_error([&] { compare_paired(good, bad, pool); });
  };
  expect_refused([](Outcomes& o) { o.runs = 0; });
  expect_refused([](Outcomes& o) { o.zsl[0] = 2; });
  expect_refused([](Outcomes& o) { o.zsl.pop_back(); });
  expect_refused([](Outcomes& o) { o.unseen.clear(); });
  expect_refused([](Outcomes& o) { o.seen.push_back(0); });
  expect_refused([](Outcomes& o) { o = {}; });
  auto others = good;
  std::swap(others.unseen_labels[0], others.unseen_labels[1]);
  expect_error([&] { compare_paired(good, others, pool); }, "same test samples");
}

namespace {

/// The least value whose cumulative probability reaches q; fails where the choice hangs by a thread.
double quantile(const std::map<double, double>& probability, double q) {
  double sum = 0;
  for (const auto& [value, p] : probability) {
    EXPECT_GT(std::abs(sum + p - q), 0.004) << "the test cannot tell " << value << " from the next value";
    if ((sum += p) >= q) return value;
  }
  return NAN;
}

void expect_quantiles(const BootstrapInterval& interval, const std::map<double, double>& probability) {
  EXPECT_NEAR(interval.low, quantile(probability, 0.025), 1e-9);
  EXPECT_NEAR(interval.high, quantile(probability, 0.975), 1e-9);
}

Outcomes one_class(std::size_t samples, std::size_t right) {
  Outcomes out;
  out.unseen_labels.assign(samples, 4);
  out.zsl.assign(samples, 0);
  std::fill_n(out.zsl.begin(), right, 1);
  return out;
}

/// U, S, H or their like of one replicate, drawn in the most obvious way.
struct SlowDraw {
  std::mt19937 rng{11};

  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng); }

  /// Means over drawn classes of the shares of right answers of drawn samples, one per method.
  std::vector<double> means(const std::vector<std::int32_t>& labels,
                            const std::vector<std::vector<std::uint16_t>>& right, const std::vector<double>& runs) {
    std::map<std::int32_t, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < labels.size(); ++i) members[labels[i]].push_back(i);
    std::vector<std::vector<std::size_t>> classes;
    for (const auto& [label, samples] : members) classes.push_back(samples);
    std::vector<double> means(right.size(), 0);
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const auto& drawn = classes[below(classes.size())];
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        const std::size_t sample = drawn[below(drawn.size())];
        for (std::size_t m = 0; m < right.size(); ++m)
          means[m] += 100 * right[m][sample] / runs[m] / static_cast<double>(drawn.size() * classes.size());
      }
    }
    return means;
  }
};

double harmonic_mean_of(double u, double s) { return u + s > 0 ? 2 / (1 / u + 1 / s) : 0; }

double at(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size()))];
}

}  // namespace

TEST(Bootstrap, OneClassIsBinomial) {
  ThreadPool pool(1);
  for (const std::size_t right : {4u, 20u, 29u}) {
    const std::size_t n = 30;
    const double p = static_cast<double>(right) / n;
    std::map<double, double> binomial;
    for (std::size_t k = 0; k <= n; ++k)
      binomial[100.0 * static_cast<double>(k) / n] =
          std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0)) *
          std::pow(p, static_cast<double>(k)) * std::pow(1 - p, static_cast<double>(n - k));
    const auto result = bootstrap_intervals(one_class(n, right), pool, {40000, 1, 3});
    EXPECT_DOUBLE_EQ(result.zsl.estimate, 100 * p);
    EXPECT_FALSE(result.has_gzsl);
    expect_quantiles(result.zsl, binomial);
  }
}

TEST(Bootstrap, TwoLevelsAreThoseOfAllPossibleDraws) {
  // Three classes of two samples: 27 draws of classes, 4 of samples for each.
  Outcomes out;
  out.unseen_labels = {7, 2, 5, 2, 7, 5};
  out.zsl = {1, 0, 1, 1, 1, 0};  // shares right: class 2: 1/2, 5: 1/2, 7: 1
  const int right[3][2] = {{0, 1}, {1, 0}, {1, 1}};
  std::map<double, double> probability;
  for (int classes = 0; classes < 27; ++classes)
    for (int samples = 0; samples < 64; ++samples) {
      const int drawn[] = {classes % 3, classes / 3 % 3, classes / 9};
      int sum = 0;
      for (int k = 0; k < 3; ++k)
        sum += right[drawn[k]][samples >> 2 * k & 1] + right[drawn[k]][samples >> (2 * k + 1) & 1];
      probability[100.0 * sum / 6] += 1.0 / (27 * 64);
    }
  ThreadPool pool(2);
  const auto result = bootstrap_intervals(out, pool, {40000, 1, 5});
  EXPECT_NEAR(result.zsl.estimate, 200.0 / 3, 1e-12);
  expect_quantiles(result.zsl, probability);
}

TEST(Bootstrap, IntervalsAndDifferencesAgreeWithSlowDraws) {
  auto a = random_outcomes(1, 12, 9, 0.6, 0.3, 3), b = random_outcomes(2, 12, 9, 0.4, 0.3);
  for (auto* list : {&b.zsl, &b.unseen, &b.seen})  // correlated with the first method
    for (std::size_t i = 0; i < list->size(); i += 2)
      (*list)[i] = (list == &b.zsl ? a.zsl : list == &b.unseen ? a.unseen : a.seen)[i] > 1;
  SlowDraw draw;
  std::vector<double> values[8];  // the figures of the first method, then the differences
  for (int r = 0; r < 100000; ++r) {
    const auto unseen = draw.means(a.unseen_labels, {a.zsl, a.unseen, b.zsl, b.unseen}, {3, 3, 1, 1});
    const auto seen = draw.means(a.seen_labels, {a.seen, b.seen}, {3, 1});
    const double first[] = {unseen[0], unseen[1], seen[0], harmonic_mean_of(unseen[1], seen[0])},
                 second[] = {unseen[2], unseen[3], seen[1], harmonic_mean_of(unseen[3], seen[1])};
    for (std::size_t f = 0; f < 4; ++f) {
      values[f].push_back(first[f]);
      values[4 + f].push_back(first[f] - second[f]);
    }
  }
  ThreadPool pool(2);
  const UncertaintyOptions options{100000, 1, 9};
  const auto alone = bootstrap_intervals(a, pool, options);
  const auto both = compare_paired(a, b, pool, options);
  ASSERT_TRUE(alone.has_gzsl && both.has_gzsl);
  for (std::size_t f = 0; f < 8; ++f) {
    const BootstrapInterval interval = f < 4 ? figures_of(alone)[f] : figures_of(both)[f - 4].difference;
    EXPECT_NEAR(interval.low, at(values[f], 0.025), 0.4) << f;
    EXPECT_NEAR(interval.high, at(values[f], 0.975), 0.4) << f;
    EXPECT_GT(interval.high - interval.low, 10) << f << ": the tolerance is small beside the width";
    EXPECT_LT(interval.low, interval.estimate);
    EXPECT_LT(interval.estimate, interval.high);
  }
}

TEST(Bootstrap, CoversTheMeanOfClassesThatWereNotDrawn) {
  // Classes are right with probability 0.2 to 0.8, 0.5 on average over all classes there could be.
  ThreadPool pool(2);
  int covered = 0;
  const int sets = 400;
  for (int i = 0; i < sets; ++i) {
    const auto interval =
        bootstrap_intervals(random_outcomes(100 + static_cast<std::uint64_t>(i), 30, 40, 0.5, 0.3), pool, {400, 1, 1});
    covered += interval.u.low <= 50 && 50 <= interval.u.high;
  }
  EXPECT_GT(covered, 0.92 * sets);
  EXPECT_LT(covered, 0.99 * sets);
}

TEST(Bootstrap, IsTheSameForAnyNumberOfThreadsAndNotForAnotherSeed) {
  const auto a = random_outcomes(1, 20, 11, 0.6, 0.3), b = random_outcomes(2, 20, 11, 0.55, 0.3);
  ThreadPool one(1), three(3);
  const auto x = compare_paired(a, b, one), y = compare_paired(a, b, three);
  const auto same = [](const PairedDifference& l, const PairedDifference& r) {
    return l.difference.low == r.difference.low && l.difference.high == r.difference.high && l.p == r.p;
  };
  EXPECT_TRUE(same(x.zsl, y.zsl) && same(x.u, y.u) && same(x.s, y.s) && same(x.h, y.h));
  UncertaintyOptions other;
  other.seed = 2;
  EXPECT_FALSE(same(x.h, compare_paired(a, b, one, other).h));
}

TEST(Bootstrap, AMethodComparedWithItselfDoesNotDiffer) {
  const auto a = random_outcomes(1, 20, 11, 0.6, 0.3, 2);
  ThreadPool pool(1);
  const auto result = compare_paired(a, a, pool);
  for (const auto& [difference, p, exact] : figures_of(result)) {
    for (const double value : {difference.estimate, difference.low, difference.high}) EXPECT_EQ(value, 0);
    EXPECT_EQ(p, 1);
    EXPECT_TRUE(exact);
  }
}

TEST(Bootstrap, RefusesTooFewReplicatesAndDraws) {
  ThreadPool pool(1);
  for (const UncertaintyOptions& options : {UncertaintyOptions{39, 1, 1}, UncertaintyOptions{40, 0, 1}})
    expect_error([&] { bootstrap_intervals(one_class(3, 1), pool, options); }, "", ErrorCode::usage);
}

namespace {

using List = std::vector<double>;

/// Accuracy of each class, in percent.
List per_class(const std::vector<std::int32_t>& labels, const std::vector<std::uint16_t>& right, double runs) {
  std::map<std::int32_t, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    sums[labels[i]].first += 100 * right[i] / runs;
    sums[labels[i]].second += 1;
  }
  List accuracies;
  for (const auto& [label, sum] : sums) accuracies.push_back(sum.first / sum.second);
  return accuracies;
}

double mean(const List& values, std::size_t from, std::size_t to) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(from),
                         values.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
         static_cast<double>(to - from);
}

/// The share of all 2^K exchanges, classes that do not differ included, whose difference is as large as the observed.
double enumerated(const List& a, const List& b, const std::function<double(const List&)>& figure) {
  const double observed = std::abs(figure(a) - figure(b));
  std::size_t extreme = 0;
  const std::size_t count = std::size_t{1} << a.size();
  List x(a.size()), y(a.size());
  for (std::size_t bits = 0; bits < count; ++bits) {
    for (std::size_t c = 0; c < a.size(); ++c) {
      const bool exchanged = bits >> c & 1;
      x[c] = exchanged ? b[c] : a[c];
      y[c] = exchanged ? a[c] : b[c];
    }
    extreme += std::abs(figure(x) - figure(y)) >= observed - 1e-7;
  }
  return static_cast<double>(extreme) / static_cast<double>(count);
}

/// p of the four figures.
std::array<double, 4> enumerated(const Outcomes& a, const Outcomes& b, std::size_t classes) {
  const auto all = [&](const List& v) { return mean(v, 0, classes); };
  const auto of = [](const Outcomes& o, const std::vector<std::uint16_t>& right) {
    return per_class(&right == &o.seen ? o.seen_labels : o.unseen_labels, right, o.runs);
  };
  const auto joined = [&](const Outcomes& o) {
    List both = of(o, o.unseen);
    const List seen = of(o, o.seen);
    both.insert(both.end(), seen.begin(), seen.end());
    return both;
  };
  return {enumerated(of(a, a.zsl), of(b, b.zsl), all), enumerated(of(a, a.unseen), of(b, b.unseen), all),
          enumerated(of(a, a.seen), of(b, b.seen), all), enumerated(joined(a), joined(b), [&](const List& v) {
            return harmonic_mean_of(mean(v, 0, classes), mean(v, classes, 2 * classes));
          })};
}

}  // namespace

TEST(SignFlip, FewClassesAreEnumerated) {
  ThreadPool pool(1);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    // Of few samples, so that some classes do not differ and some exchanges tie.
    const auto a = random_outcomes(seed, 6, 5, 0.6, 0.3, seed % 2 == 0 ? 1 : 3),
               b = random_outcomes(seed + 50, 6, 5, 0.4, 0.3);
    const auto result = compare_paired(a, b, pool, {40, 1, 1});
    const auto expected = enumerated(a, b, 6);
    for (std::size_t f = 0; f < 4; ++f) {
      EXPECT_NEAR(figures_of(result)[f].p, expected[f], 1e-12) << seed << ' ' << f;
      EXPECT_TRUE(figures_of(result)[f].exact);
    }
  }
}

TEST(SignFlip, ManyClassesAreDrawnAndTheirPIsNeverZero) {
  ThreadPool pool(2);
  const auto a = random_outcomes(3, 17, 60, 0.55, 0.3), b = random_outcomes(4, 17, 60, 0.45, 0.3);
  const auto result = compare_paired(a, b, pool, {40, 10000, 1});
  const List x = per_class(a.seen_labels, a.seen, 1), y = per_class(b.seen_labels, b.seen, 1);
  const double expected = enumerated(x, y, [](const List& v) { return mean(v, 0, v.size()); });
  EXPECT_FALSE(result.s.exact);
  EXPECT_NEAR(result.s.p, expected, 4 * std::sqrt(expected * (1 - expected) / 10000) + 1e-4);
  EXPECT_GT(expected, 0.001);
  EXPECT_LT(expected, 0.5);
  const auto good = random_outcomes(3, 40, 20, 0.9, 0.05), bad = random_outcomes(4, 40, 20, 0.1, 0.05);
  const auto extreme = compare_paired(good, bad, pool);
  EXPECT_DOUBLE_EQ(extreme.zsl.p, 1.0 / 10001);
  EXPECT_DOUBLE_EQ(extreme.h.p, 1.0 / 10001);
}

TEST(SignFlip, EqualMethodsSeldomHaveASmallP) {
  ThreadPool pool(2);
  int small = 0, small_h = 0;
  const int sets = 400;
  for (std::uint64_t i = 0; i < sets; ++i) {
    const auto result = compare_paired(random_outcomes(1000 + i, 10, 20, 0.5, 0.3),
                                       random_outcomes(5000 + i, 10, 20, 0.5, 0.3), pool, {40, 400, 1});
    small += result.zsl.p <= 0.05;
    small_h += result.h.p <= 0.05;
  }
  for (const int count : {small, small_h}) {  // 20 expected, standard deviation 4.4
    EXPECT_GT(count, 5);
    EXPECT_LT(count, 36);
  }
}

}  // namespace parsnets::test
