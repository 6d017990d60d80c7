#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "eval/random_outcomes.hpp"
#include "parsnets/error.hpp"
#include "parsnets/uncertainty.hpp"

namespace parsnets::test {

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

double harmonic(double u, double s) { return u + s > 0 ? 2 / (1 / u + 1 / s) : 0; }

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
  std::map<std::string, std::vector<double>> values;
  for (int r = 0; r < 100000; ++r) {
    const auto unseen = draw.means(a.unseen_labels, {a.zsl, a.unseen, b.zsl, b.unseen}, {3, 3, 1, 1});
    const auto seen = draw.means(a.seen_labels, {a.seen, b.seen}, {3, 1});
    values["zsl"].push_back(unseen[0]);
    values["u"].push_back(unseen[1]);
    values["s"].push_back(seen[0]);
    values["h"].push_back(harmonic(unseen[1], seen[0]));
    values["zsl, difference"].push_back(unseen[0] - unseen[2]);
    values["u, difference"].push_back(unseen[1] - unseen[3]);
    values["s, difference"].push_back(seen[0] - seen[1]);
    values["h, difference"].push_back(harmonic(unseen[1], seen[0]) - harmonic(unseen[3], seen[1]));
  }
  ThreadPool pool(2);
  const UncertaintyOptions options{100000, 1, 9};
  const auto alone = bootstrap_intervals(a, pool, options);
  const auto both = compare_paired(a, b, pool, options);
  ASSERT_TRUE(alone.has_gzsl && both.has_gzsl);
  const std::pair<const char*, BootstrapInterval> results[] = {{"zsl", alone.zsl},
                                                               {"u", alone.u},
                                                               {"s", alone.s},
                                                               {"h", alone.h},
                                                               {"zsl, difference", both.zsl.difference},
                                                               {"u, difference", both.u.difference},
                                                               {"s, difference", both.s.difference},
                                                               {"h, difference", both.h.difference}};
  for (const auto& [name, interval] : results) {
    EXPECT_NEAR(interval.low, at(values[name], 0.025), 0.4) << name;
    EXPECT_NEAR(interval.high, at(values[name], 0.975), 0.4) << name;
    EXPECT_GT(interval.high - interval.low, 10) << name << ": the tolerance is small beside the width";
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
  for (const auto* figure : {&result.zsl, &result.u, &result.s, &result.h}) {
    EXPECT_EQ(figure->difference.estimate, 0);
    EXPECT_EQ(figure->difference.low, 0);
    EXPECT_EQ(figure->difference.high, 0);
    EXPECT_EQ(figure->p, 1);
    EXPECT_TRUE(figure->exact);
  }
}

TEST(Bootstrap, RefusesTooFewReplicatesAndDraws) {
  ThreadPool pool(1);
  for (const UncertaintyOptions& options : {UncertaintyOptions{39, 1, 1}, UncertaintyOptions{40, 0, 1}}) try {
      bootstrap_intervals(one_class(3, 1), pool, options);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
    }
}

}  // namespace parsnets::test
