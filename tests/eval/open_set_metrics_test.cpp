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
#include "expect.hpp"
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

TEST(OpenSetMetrics, AreThoseOfAllPairsAndOfEveryThreshold) {
  Rng rng(3);
  for (int problem = 0; problem < 400; ++problem) {
    const OpenSetProblem p = random_open_set(rng);
    const Scores all = thresholds(p);
    double pairs = 0, right_pairs = 0;  // half of the ties
    for (std::size_t i = 0; i < p.known.size(); ++i)
      for (const float u : p.unknown) {
        const double share = p.known[i] > u ? 1 : p.known[i] == u ? 0.5 : 0;
        pairs += share;
        right_pairs += p.right[i] ? share : 0;
      }
    const auto count = static_cast<double>(p.known.size() * p.unknown.size());
    const auto [area, curve] = roc(p.known, p.unknown);
    EXPECT_DOUBLE_EQ(area, 100 * pairs / count);
    EXPECT_NEAR(trapezoid_area(curve), area, 1e-9);
    ASSERT_EQ(curve.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_DOUBLE_EQ(curve[i].unknown, accepted(p.unknown, all[i]));
      EXPECT_DOUBLE_EQ(curve[i].known, accepted(p.known, all[i]));
    }
    const AcceptanceCurve result = oscr(p.known, p.right, p.unknown);
    EXPECT_DOUBLE_EQ(result.area, 100 * right_pairs / count);
    EXPECT_NEAR(trapezoid_area(result.points), result.area, 1e-9);
    std::vector<std::pair<double, double>> distinct;
    for (const float t : all) {
      const std::pair<double, double> point(accepted(p.unknown, t), accepted_right(p, t));
      if (distinct.empty() || distinct.back() != point) distinct.push_back(point);
    }
    ASSERT_EQ(result.points.size(), distinct.size());
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      EXPECT_DOUBLE_EQ(result.points[i].unknown, distinct[i].first);
      EXPECT_DOUBLE_EQ(result.points[i].known, distinct[i].second);
    }
    // The false positive rate is taken at the highest threshold that accepts enough.
    const auto enough = std::ranges::find_if(all, [&](float t) { return accepted(p.known, t) >= 95 - 1e-9; });
    EXPECT_DOUBLE_EQ(fpr95(p.known, p.unknown), accepted(p.unknown, *enough));
  }
}

TEST(OpenSetMetrics, AurocByHandAlsoOfInfiniteAndLowestScores) {
  EXPECT_EQ(roc(Scores{2, 3}, Scores{0, 1}).area, 100);
  EXPECT_EQ(roc(Scores{0, 1}, Scores{2, 3}).area, 0);
  EXPECT_EQ(roc(Scores{1, 1, 1}, Scores{1, 1}).area, 50);
  EXPECT_EQ(roc(Scores{1, 3}, Scores{2}).area, 50);
  const float infinity = std::numeric_limits<float>::infinity(), lowest = std::numeric_limits<float>::lowest();
  EXPECT_EQ(roc(Scores{0, infinity}, Scores{lowest, -infinity}).area, 100);
  EXPECT_EQ(roc(Scores{lowest}, Scores{lowest, -infinity}).area, 75);
  EXPECT_EQ(roc(Scores{lowest, 1}, Scores{lowest}).points.size(), 3U);
}

TEST(OpenSetMetrics, OscrIsAurocWhereAllClassesAreRightAndNothingWhereNoneIs) {
  const Scores known{1, 4, 2, 5}, unknown{3, 0, 2};
  EXPECT_EQ(oscr(known, std::vector<std::uint8_t>{1, 1, 1, 1}, unknown).area, roc(known, unknown).area);
  const AcceptanceCurve none = oscr(known, std::vector<std::uint8_t>{0, 0, 0, 0}, unknown);
  EXPECT_EQ(none.area, 0);
  EXPECT_EQ(none.points.back().known, 0);
  EXPECT_EQ(none.points.back().unknown, 100);
  // 4 and 5 are above all unknown scores, 2 is wrong, 1 is above one of three: (3 + 3 + 1)/12 of the pairs.
  EXPECT_DOUBLE_EQ(oscr(known, std::vector<std::uint8_t>{1, 1, 0, 1}, unknown).area, 100 * 7.0 / 12);
}

TEST(OpenSetMetrics, TheFalsePositiveRateAtTiesAndRoundShares) {
  Scores known;
  for (int i = 1; i <= 20; ++i) known.push_back(static_cast<float>(i));
  // 19 of 20 are exactly 95 %: the threshold is 2.
  EXPECT_EQ(fpr95(known, Scores{1.5f, 2, 3, 0}), 50);
  // All known ones are tied: any share accepts all of them, and what is tied with them.
  EXPECT_EQ(fpr95(Scores{1, 1, 1}, Scores{1, 0, 2, 0}), 50);
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
    EXPECT_EQ(roc(p.known, p.unknown).area, roc(q.known, q.unknown).area);
    EXPECT_EQ(oscr(p.known, p.right, p.unknown).area, oscr(q.known, q.right, q.unknown).area);
    EXPECT_EQ(fpr95(p.known, p.unknown), fpr95(q.known, q.unknown));
  }
}

TEST(OpenSetMetrics, ThinnedCurvesKeepTheirEndsAndTheirArea) {
  Rng rng(8);
  Scores known(4000), unknown(3000);
  for (auto& score : known) score = static_cast<float>(rng.normal() + 1);
  for (auto& score : unknown) score = static_cast<float>(rng.normal());
  const auto curve = roc(known, unknown).points;
  ASSERT_GT(curve.size(), 5000U);
  for (const std::size_t most : {std::size_t{2}, std::size_t{3}, std::size_t{50}, std::size_t{200}}) {
    const auto few = thinned(curve, most);
    ASSERT_EQ(few.size(), most);  // no step of this curve is longer than the distance of the points to keep
    EXPECT_EQ(few.front().known + few.front().unknown, 0);
    EXPECT_EQ(few.back().known, 100);
    EXPECT_EQ(few.back().unknown, 100);
    for (std::size_t i = 1; i < few.size(); ++i)
      EXPECT_LE(few[i].known + few[i].unknown - few[i - 1].known - few[i - 1].unknown,
                200.0 / static_cast<double>(most - 1) + 0.1);
  }
  EXPECT_NEAR(trapezoid_area(thinned(curve, 200)), trapezoid_area(curve), 0.1);
  EXPECT_EQ(thinned(roc(Scores{1}, Scores{0}).points, 50).size(), 3U);
}

TEST(OpenSetMetrics, WhatCannotBeMeasuredIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::uint8_t> one{1};
  test::expect_error([&] { roc({}, Scores{1}); });
  test::expect_error([&] { roc(Scores{1}, {}); });
  test::expect_error([&] { roc(Scores{1, nan}, Scores{1}); });
  test::expect_error([&] { roc(Scores{1}, Scores{nan}); });
  test::expect_error([&] { fpr95(Scores{1}, Scores{nan}); });
  test::expect_error([&] { oscr(Scores{nan}, one, Scores{1}); });
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
      for (const auto& point : roc(p.known, p.unknown).points) curve.push_back({point.unknown, point.known});
      out << nlohmann::json{{"known", p.known},
                            {"unknown", p.unknown},
                            {"auroc", roc(p.known, p.unknown).area},
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
