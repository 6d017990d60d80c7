#include "eval/open_set_metrics.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "paths.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

using Scores = std::vector<float>;

struct OpenSetProblem {
  Scores known, unknown;
  std::vector<std::uint8_t> right;
};

/// Few different values, so that ties abound; known ones are a little higher.
OpenSetProblem random_open_set(Rng& rng) {
  OpenSetProblem p;
  const auto levels = 1 + rng.below(40);
  p.known.resize(1 + rng.below(50));
  p.unknown.resize(1 + rng.below(50));
  for (auto& score : p.known) {
    score = static_cast<float>(rng.below(levels) + rng.below(levels)) / 8;
    p.right.push_back(rng.below(3) > 0);
  }
  for (auto& score : p.unknown) score = static_cast<float>(rng.below(levels)) / 8;
  return p;
}

/// Every threshold at which anything changes, falling, after one that accepts nothing.
Scores thresholds(const OpenSetProblem& p) {
  Scores all = p.known;
  all.insert(all.end(), p.unknown.begin(), p.unknown.end());
  std::ranges::sort(all, std::greater<>());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.insert(all.begin(), all[0] + 1);
  return all;
}

double accepted(const Scores& scores, float threshold) {
  return 100.0 * static_cast<double>(std::ranges::count_if(scores, [&](float s) { return s >= threshold; })) /
         static_cast<double>(scores.size());
}

double accepted_right(const OpenSetProblem& p, float threshold) {
  double count = 0;
  for (std::size_t i = 0; i < p.known.size(); ++i) count += p.right[i] && p.known[i] >= threshold;
  return 100 * count / static_cast<double>(p.known.size());
}

double trapezoid_area(const std::vector<AcceptancePoint>& curve) {
  double area = 0;
  for (std::size_t i = 1; i < curve.size(); ++i)
    area += (curve[i].unknown - curve[i - 1].unknown) * (curve[i].known + curve[i - 1].known) / 200;
  return area;
}

void expect_code(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
  }
}

TEST(OpenSetMetrics, AurocCountsPairsAndHalfOfTheTies) {
  Rng rng(3);
  for (int problem = 0; problem < 200; ++problem) {
    const OpenSetProblem p = random_open_set(rng);
    double pairs = 0;
    for (const float k : p.known)
      for (const float u : p.unknown) pairs += k > u ? 1 : k == u ? 0.5 : 0;
    EXPECT_DOUBLE_EQ(auroc(p.known, p.unknown), 100 * pairs / static_cast<double>(p.known.size() * p.unknown.size()));
  }
  EXPECT_EQ(auroc(Scores{2, 3}, Scores{0, 1}), 100);
  EXPECT_EQ(auroc(Scores{0, 1}, Scores{2, 3}), 0);
  EXPECT_EQ(auroc(Scores{1, 1, 1}, Scores{1, 1}), 50);
  EXPECT_EQ(auroc(Scores{1, 3}, Scores{2}), 50);
}

TEST(OpenSetMetrics, TheRocCurveHasEveryThresholdOnceAndAurocIsItsArea) {
  Rng rng(4);
  for (int problem = 0; problem < 200; ++problem) {
    const OpenSetProblem p = random_open_set(rng);
    const auto curve = roc_curve(p.known, p.unknown);
    const Scores all = thresholds(p);
    ASSERT_EQ(curve.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_DOUBLE_EQ(curve[i].unknown, accepted(p.unknown, all[i]));
      EXPECT_DOUBLE_EQ(curve[i].known, accepted(p.known, all[i]));
    }
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(curve[i].threshold, all[i]);
    EXPECT_GT(curve[0].threshold, all[1]);
    EXPECT_NEAR(trapezoid_area(curve), auroc(p.known, p.unknown), 1e-9);
  }
}

TEST(OpenSetMetrics, OscrCountsOnlyRightClassesAtEveryThreshold) {
  Rng rng(5);
  for (int problem = 0; problem < 200; ++problem) {
    const OpenSetProblem p = random_open_set(rng);
    const Oscr result = oscr(p.known, p.right, p.unknown);
    double pairs = 0;
    for (std::size_t i = 0; i < p.known.size(); ++i)
      for (const float u : p.unknown) pairs += !p.right[i] ? 0 : p.known[i] > u ? 1 : p.known[i] == u ? 0.5 : 0;
    EXPECT_DOUBLE_EQ(result.area, 100 * pairs / static_cast<double>(p.known.size() * p.unknown.size()));
    EXPECT_NEAR(trapezoid_area(result.curve), result.area, 1e-9);
    std::vector<std::pair<double, double>> distinct;
    for (const float t : thresholds(p)) {
      const std::pair<double, double> point(accepted(p.unknown, t), accepted_right(p, t));
      if (distinct.empty() || distinct.back() != point) distinct.push_back(point);
    }
    ASSERT_EQ(result.curve.size(), distinct.size());
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      EXPECT_DOUBLE_EQ(result.curve[i].unknown, distinct[i].first);
      EXPECT_DOUBLE_EQ(result.curve[i].known, distinct[i].second);
    }
  }
}

TEST(OpenSetMetrics, OscrIsAurocWhereAllClassesAreRightAndNothingWhereNoneIs) {
  const Scores known{1, 4, 2, 5}, unknown{3, 0, 2};
  EXPECT_EQ(oscr(known, std::vector<std::uint8_t>{1, 1, 1, 1}, unknown).area, auroc(known, unknown));
  const Oscr none = oscr(known, std::vector<std::uint8_t>{0, 0, 0, 0}, unknown);
  EXPECT_EQ(none.area, 0);
  EXPECT_EQ(none.curve.back().known, 0);
  EXPECT_EQ(none.curve.back().unknown, 100);
  // 4 and 5 are above all unknown scores, 2 is wrong, 1 is above one of three: (3 + 3 + 1)/12 of the pairs.
  EXPECT_DOUBLE_EQ(oscr(known, std::vector<std::uint8_t>{1, 1, 0, 1}, unknown).area, 100 * 7.0 / 12);
}

TEST(OpenSetMetrics, TheFalsePositiveRateIsTakenAtTheHighestThresholdThatAcceptsEnough) {
  Rng rng(6);
  for (int problem = 0; problem < 200; ++problem) {
    const OpenSetProblem p = random_open_set(rng);
    for (const double rate : {0.05, 0.5, 0.95, 1.0}) {
      for (const float t : thresholds(p))
        if (accepted(p.known, t) >= 100 * rate - 1e-9) {
          EXPECT_DOUBLE_EQ(false_positive_rate(p.known, p.unknown, rate), accepted(p.unknown, t)) << rate;
          break;
        }
    }
  }
}

TEST(OpenSetMetrics, TheFalsePositiveRateAtTiesAndRoundShares) {
  Scores known;
  for (int i = 1; i <= 20; ++i) known.push_back(static_cast<float>(i));
  // 19 of 20 are exactly 95 %: the threshold is 2.
  EXPECT_EQ(false_positive_rate(known, Scores{1.5f, 2, 3, 0}), 50);
  // One more than needed would be accepted by the product 0.07·100 = 7.000000000000001.
  Scores hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(static_cast<float>(i));
  EXPECT_EQ(false_positive_rate(hundred, Scores{93.5f, 94.5f}, 0.07), 50);
  // All known ones are tied: any share accepts all of them, and what is tied with them.
  EXPECT_EQ(false_positive_rate(Scores{1, 1, 1}, Scores{1, 0, 2, 0}, 0.1), 50);
}

TEST(OpenSetMetrics, TheOrderOfSamplesChangesNothing) {
  Rng rng(7);
  for (int problem = 0; problem < 30; ++problem) {
    const OpenSetProblem p = random_open_set(rng);
    OpenSetProblem q;
    for (const auto i : rng.permutation(p.known.size())) {
      q.known.push_back(p.known[i]);
      q.right.push_back(p.right[i]);
    }
    q.unknown = p.unknown;
    rng.shuffle(q.unknown);
    EXPECT_EQ(auroc(p.known, p.unknown), auroc(q.known, q.unknown));
    EXPECT_EQ(oscr(p.known, p.right, p.unknown).area, oscr(q.known, q.right, q.unknown).area);
    EXPECT_EQ(false_positive_rate(p.known, p.unknown), false_positive_rate(q.known, q.unknown));
  }
}

TEST(OpenSetMetrics, InfiniteAndLowestScoresAreOrdered) {
  const float infinity = std::numeric_limits<float>::infinity(), lowest = std::numeric_limits<float>::lowest();
  EXPECT_EQ(auroc(Scores{0, infinity}, Scores{lowest, -infinity}), 100);
  EXPECT_EQ(auroc(Scores{lowest}, Scores{lowest, -infinity}), 75);
  EXPECT_EQ(roc_curve(Scores{lowest, 1}, Scores{lowest}).size(), 3U);
}

TEST(OpenSetMetrics, ThinnedCurvesKeepTheirEndsAndTheirArea) {
  Rng rng(8);
  Scores known(4000), unknown(3000);
  for (auto& score : known) score = static_cast<float>(rng.normal() + 1);
  for (auto& score : unknown) score = static_cast<float>(rng.normal());
  const auto curve = roc_curve(known, unknown);
  ASSERT_GT(curve.size(), 5000U);
  for (const std::size_t most : {std::size_t{2}, std::size_t{3}, std::size_t{50}, std::size_t{200}}) {
    const auto few = thinned(curve, most);
    ASSERT_EQ(few.size(), most);  // no step of this curve is longer than the distance of the points to keep
    EXPECT_EQ(few.front().threshold, curve.front().threshold);
    EXPECT_EQ(few.back().known, 100);
    EXPECT_EQ(few.back().unknown, 100);
    for (std::size_t i = 1; i < few.size(); ++i)
      EXPECT_LE(few[i].known + few[i].unknown - few[i - 1].known - few[i - 1].unknown,
                200.0 / static_cast<double>(most - 1) + 0.1);
  }
  EXPECT_NEAR(trapezoid_area(thinned(curve, 200)), trapezoid_area(curve), 0.1);
  EXPECT_EQ(thinned(roc_curve(Scores{1}, Scores{0}), 50).size(), 3U);
}

TEST(OpenSetMetrics, WhatCannotBeMeasuredIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::uint8_t> one{1}, two{1, 1};
  expect_code(ErrorCode::bad_input, [&] { auroc({}, Scores{1}); });
  expect_code(ErrorCode::bad_input, [&] { auroc(Scores{1}, {}); });
  expect_code(ErrorCode::bad_input, [&] { auroc(Scores{1, nan}, Scores{1}); });
  expect_code(ErrorCode::bad_input, [&] { roc_curve(Scores{1}, Scores{nan}); });
  expect_code(ErrorCode::bad_input, [&] { false_positive_rate(Scores{1}, Scores{nan}); });
  expect_code(ErrorCode::bad_input, [&] { oscr(Scores{1}, two, Scores{1}); });
  expect_code(ErrorCode::bad_input, [&] { oscr(Scores{nan}, one, Scores{1}); });
  expect_code(ErrorCode::usage, [&] { false_positive_rate(Scores{1}, Scores{1}, 0); });
  expect_code(ErrorCode::usage, [&] { false_positive_rate(Scores{1}, Scores{1}, 95); });
  expect_code(ErrorCode::usage, [&] { thinned({}, 1); });
}

TEST(OpenSetMetrics, ScikitLearnFindsTheSameAreasAndCurves) {
  const test::TempDir dir;
  const auto file = dir.path() / "cases.jsonl";
  {
    std::ofstream out(file);
    Rng rng(9);
    for (int problem = 0; problem < 100; ++problem) {
      const OpenSetProblem p = random_open_set(rng);
      nlohmann::json curve = nlohmann::json::array();
      for (const auto& point : roc_curve(p.known, p.unknown)) curve.push_back({point.unknown, point.known});
      out << nlohmann::json{{"known", p.known},
                            {"unknown", p.unknown},
                            {"auroc", auroc(p.known, p.unknown)},
                            {"curve", curve}}
                 .dump()
          << '\n';
    }
  }
  const int status = std::system(
      ("/usr/bin/python3 '" PARSNETS_SOURCE_DIR "/tests/oracles/roc_oracle.py' '" + file.string() + "'").c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 77 || code == 127) GTEST_SKIP() << "NOT TESTED against scikit-learn: install python3-sklearn";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace parsnets
