#include "eval/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/rng.hpp"
#include "expect.hpp"
#include "model/prediction.hpp"

namespace parsnets {

namespace {

using Labels = std::vector<std::int32_t>;

MatrixView<const float> view(const std::vector<float>& values, std::size_t cols) {
  return {values.data(), values.size() / cols, cols};
}

Accuracy accuracy_among(MatrixView<const float> scores, const Labels& labels, const Labels& candidates) {
  AccuracyCount count(scores.cols(), labels, candidates);
  count.add(0, scores);
  return count.result();
}

void expect_same(const Accuracy& a, const Accuracy& b) {
  EXPECT_EQ((std::array{a.top1_per_class, a.top1, a.top5}), (std::array{b.top1_per_class, b.top1, b.top5}));
}

void expect_classes(const std::vector<ClassAccuracy>& found, const std::vector<ClassAccuracy>& want) {
  ASSERT_EQ(found.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(found[k].class_index, want[k].class_index);
    EXPECT_EQ(found[k].samples, want[k].samples);
    EXPECT_DOUBLE_EQ(found[k].top1, want[k].top1);
  }
}

/// Classes 0, 1, ..., and a label among them for each of n samples.
std::pair<Labels, Labels> random_labels(Rng& rng, std::size_t n, std::size_t classes) {
  Labels labels(n), all(classes);
  std::iota(all.begin(), all.end(), 0);
  for (auto& l : labels) l = static_cast<std::int32_t>(rng.below(classes));
  return {labels, all};
}

TEST(Accuracy, PerClassMeanCountsEveryOccurringClassAlike) {
  // Class 0: 3 of 4 right; class 2: 0 of 1; class 1 has no samples and takes no part in the mean.
  const std::vector<float> scores{3, 1, 2,  //
                                  3, 1, 2,  //
                                  3, 1, 2,  //
                                  1, 3, 2,  //
                                  5, 4, 3};
  const auto a = accuracy_among(view(scores, 3), Labels{0, 0, 0, 0, 2}, Labels{0, 1, 2});
  EXPECT_DOUBLE_EQ(a.top1_per_class, (75.0 + 0.0) / 2);
  EXPECT_DOUBLE_EQ(a.top1, 60.0);
  expect_classes(a.classes, {{0, 4, 75}, {2, 1, 0}});
}

TEST(Accuracy, OnlyCandidatesCompeteTiesGoToTheEarlierAndTopFiveEndsAtTheFifth) {
  struct Case {
    std::vector<float> scores;
    std::int32_t label;
    Labels candidates;
    double top1, top5;
  };
  const std::vector<float> falling{6, 5, 4, 3, 2, 1}, equal(6, 1.0f);
  const Labels all{0, 1, 2, 3, 4, 5};
  const std::vector<Case> cases{
      {{9, 1, 2}, 2, {0, 1, 2}, 0, 100},  {{9, 1, 2}, 2, {1, 2}, 100, 100}, {{1, 1}, 0, {0, 1}, 100, 100},
      {{1, 1}, 0, {1, 0}, 0, 100},        {falling, 4, all, 0, 100},        {falling, 5, all, 0, 0},
      {falling, 5, {0, 2, 4, 5}, 0, 100}, {equal, 4, all, 0, 100},          {equal, 5, all, 0, 0}};
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto& [scores, label, candidates, top1, top5] = cases[k];
    const auto a = accuracy_among(view(scores, scores.size()), Labels{label}, candidates);
    EXPECT_EQ(std::pair(a.top1, a.top5), std::pair(top1, top5)) << k;
  }
}

TEST(Accuracy, AgreesWithSortingEveryRow) {
  Rng rng(11);
  for (int problem = 0; problem < 200; ++problem) {
    const std::size_t classes = 1 + rng.below(12), n = 1 + rng.below(30);
    std::vector<float> scores(n * classes);
    for (auto& s : scores) s = static_cast<float>(rng.below(6));  // many ties
    const auto order = rng.permutation(classes);
    Labels candidates(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(1 + rng.below(classes))), labels(n);
    for (auto& l : labels) l = candidates[rng.below(candidates.size())];

    std::size_t first = 0, five = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Labels ranked = candidates;
      std::stable_sort(ranked.begin(), ranked.end(), [&](auto a, auto b) {
        return scores[i * classes + static_cast<std::size_t>(a)] > scores[i * classes + static_cast<std::size_t>(b)];
      });
      const auto rank = std::find(ranked.begin(), ranked.end(), labels[i]) - ranked.begin();
      first += rank < 1;
      five += rank < 5;
    }
    const auto a = accuracy_among(view(scores, classes), labels, candidates);
    EXPECT_DOUBLE_EQ(a.top1, 100.0 * static_cast<double>(first) / static_cast<double>(n));
    EXPECT_DOUBLE_EQ(a.top5, 100.0 * static_cast<double>(five) / static_cast<double>(n));
  }
}

TEST(Accuracy, RandomScoresAreRightByChanceOnly) {
  Rng rng(12);
  const std::size_t n = 20000, classes = 10;
  std::vector<float> scores(n * classes);
  for (auto& s : scores) s = static_cast<float>(rng.uniform());
  const auto [labels, all] = random_labels(rng, n, classes);
  const auto a = accuracy_among(view(scores, classes), labels, all);
  EXPECT_NEAR(a.top1_per_class, 10, 0.9);  // 4.2 standard deviations
  EXPECT_NEAR(a.top5, 50, 1.5);
}

TEST(Accuracy, MonotoneMapsOfARowChangeNothing) {
  Rng rng(13);
  const std::size_t n = 100, classes = 7;
  std::vector<float> scores(n * classes), mapped(n * classes);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<float>(rng.below(20));
    mapped[i] = scores[i] * scores[i] * 0.5f - static_cast<float>(i / classes);
  }
  const auto [labels, all] = random_labels(rng, n, classes);
  expect_same(accuracy_among(view(scores, classes), labels, all), accuracy_among(view(mapped, classes), labels, all));
}

TEST(Accuracy, RefusesScoresThatAreNotFiniteButOnlyOfCandidates) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), inf, -inf}) {
    const std::vector<float> scores{1, 2, 3, 1, bad, 3};
    const Labels labels{0, 2};
    test::expect_error([&] { accuracy_among(view(scores, 3), labels, Labels{0, 1, 2}); }, "row 1, class 1");
    EXPECT_NO_THROW(accuracy_among(view(scores, 3), labels, Labels{0, 2}));
  }
}

TEST(Accuracy, RefusesListsThatDoNotFit) {
  const auto refuse = [&](const Labels& labels, const Labels& candidates, const char* part) {
    test::expect_error([&] { AccuracyCount(3, labels, candidates); }, part);
  };
  refuse({0, 1}, {}, "at least one class");
  refuse({0, 1}, {0, 3}, "entry 1");
  refuse({0, 1}, {-1, 1}, "entry 0");
  refuse({0, 1}, {0, 1, 0}, "class 0 twice");
  refuse({0, 2}, {0, 1}, "label 1");
  refuse({0, -7}, {0, 1}, "label 1");
  refuse({0, 2147483647}, {0, 1}, "label 1");
  refuse({}, {0}, "at least one sample");
}

void in_blocks(MatrixView<const float> scores, std::size_t rows, const ScoreVisitor& visit) {
  for (std::size_t first = 0; first < scores.rows(); first += rows)
    visit(first, {scores.row(first).data(), std::min(rows, scores.rows() - first), scores.cols()});
}

struct Problem {
  std::size_t classes = 0;
  std::vector<float> unseen_scores, seen_scores;
  Labels unseen_labels, seen_labels, unseen, seen;

  MatrixView<const float> u() const { return {unseen_scores.data(), unseen_labels.size(), classes}; }
  MatrixView<const float> s() const { return {seen_scores.data(), seen_labels.size(), classes}; }
  GzslLabels labels() const { return {{unseen_labels, unseen}, {seen_labels, seen}}; }
  /// Of scores that come `rows` at a time.
  GzslCount count(std::size_t rows = 1000) const {
    GzslCount count(classes, labels());
    in_blocks(u(), rows, [&](std::size_t first, MatrixView<const float> some) { count.add_unseen(first, some); });
    in_blocks(s(), rows, [&](std::size_t first, MatrixView<const float> some) { count.add_seen(first, some); });
    return count;
  }
  Gzsl at(double gamma) const { return count().at(gamma); }
  double best() const { return count().best_gamma(); }
};

/// Scores are multiples of 1/8 out of few values, so that ties abound and every comparison is exact.
Problem random_problem(Rng& rng) {
  Problem p;
  p.classes = 2 + rng.below(9);
  const auto order = rng.permutation(p.classes);
  const std::size_t unseen = 1 + rng.below(p.classes - 1);
  for (std::size_t k = 0; k < p.classes; ++k) {
    if (rng.below(6) == 0 && k != 0 && k != unseen) continue;  // a class of the bank in neither list
    (k < unseen ? p.unseen : p.seen).push_back(static_cast<std::int32_t>(order[k]));
  }
  const auto levels = 2 + rng.below(60);
  const auto fill = [&](std::vector<float>& scores, Labels& labels, const Labels& own) {
    labels.resize(1 + rng.below(40));
    scores.resize(labels.size() * p.classes);
    for (auto& value : scores) value = static_cast<float>(rng.below(levels)) / 8;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = own[rng.below(own.size())];  // some classes get no sample
      scores[i * p.classes + static_cast<std::size_t>(labels[i])] += static_cast<float>(rng.below(levels)) / 16;
    }
  };
  fill(p.unseen_scores, p.unseen_labels, p.unseen);
  fill(p.seen_scores, p.seen_labels, p.seen);
  return p;
}

/// body(problem, rng) for so many random problems.
template <class Body>
void for_problems(std::uint64_t seed, int count, Body body) {
  Rng rng(seed);
  for (int problem = 0; problem < count; ++problem) {
    SCOPED_TRACE(problem);
    body(random_problem(rng), rng);
  }
}

/// The definition, by argmax over the calibrated scores of all classes; the unseen come first, so they win ties.
double direct_accuracy(const Problem& p, MatrixView<const float> scores, const Labels& labels, double gamma) {
  std::vector<double> samples(p.classes, 0), right(p.classes, 0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::int32_t best = -1;
    double top = 0;
    const auto compete = [&](std::int32_t c, double score) {
      if (best < 0 || score > top) {
        best = c;
        top = score;
      }
    };
    for (const auto c : p.unseen) compete(c, scores(i, static_cast<std::size_t>(c)));
    for (const auto c : p.seen) compete(c, scores(i, static_cast<std::size_t>(c)) - gamma);
    samples[static_cast<std::size_t>(labels[i])] += 1;
    right[static_cast<std::size_t>(labels[i])] += best == labels[i];
  }
  double sum = 0, occurring = 0;
  for (std::size_t c = 0; c < p.classes; ++c) {
    if (samples[c] == 0) continue;
    sum += right[c] / samples[c];
    occurring += 1;
  }
  return 100 * sum / occurring;
}

TradeOff direct(const Problem& p, double gamma) {
  return {gamma, direct_accuracy(p, p.u(), p.unseen_labels, gamma), direct_accuracy(p, p.s(), p.seen_labels, gamma)};
}

/// Every gamma at which anything can change, and one between and beyond: multiples of 1/32 over the scores' range.
std::vector<double> dense_grid() {
  std::vector<double> gammas;
  for (int k = -13 * 32; k <= 13 * 32; ++k) gammas.push_back(k / 32.0);
  return gammas;
}

double harmonic(double u, double s) { return u + s > 0 ? 2 * u * s / (u + s) : 0; }

/// Unseen class 0 and 1, seen class 2 and 3; the samples change side at 1 and 3 (unseen), 2 and 4 (seen).
Problem ladder() {
  Problem p;
  p.classes = 4;
  p.unseen = {0, 1};
  p.seen = {2, 3};
  p.unseen_scores = {5, 0, 6, 0,  //
                     0, 5, 0, 8};
  p.unseen_labels = {0, 1};
  p.seen_scores = {5, 0, 7, 0,  //
                   0, 5, 0, 9};
  p.seen_labels = {2, 3};
  return p;
}

TEST(Gzsl, FiguresAtAGammaAreThoseOfTheDirectArgmax) {
  for_problems(21, 60, [](const Problem& p, Rng&) {
    for (const double gamma : dense_grid()) {
      const auto got = p.at(gamma);
      const auto want = direct(p, gamma);
      ASSERT_NEAR(got.u, want.u, 1e-10) << gamma;
      ASSERT_NEAR(got.s, want.s, 1e-10) << gamma;
      ASSERT_NEAR(got.h, harmonic(want.u, want.s), 1e-10);
      ASSERT_EQ(got.gamma, gamma);
    }
  });
}

TEST(Gzsl, CurveHoldsEveryPointOfADenseGridOnceAndNoOther) {
  for_problems(22, 400, [](const Problem& p, Rng&) {
    std::vector<TradeOff> want;
    for (const double gamma : dense_grid()) {
      const auto point = direct(p, gamma);
      if (want.empty() || std::abs(point.u - want.back().u) > 1e-9 || std::abs(point.s - want.back().s) > 1e-9)
        want.push_back(point);
    }
    const auto curve = p.at(0).curve;
    ASSERT_EQ(curve.size(), want.size());
    for (std::size_t k = 0; k < curve.size(); ++k) {
      EXPECT_NEAR(curve[k].u, want[k].u, 1e-10);
      EXPECT_NEAR(curve[k].s, want[k].s, 1e-10);
      // The grid holds all thresholds, so the first gamma of each point is the same number.
      if (k > 0) {
        EXPECT_EQ(curve[k].gamma, want[k].gamma);
      }
    }
    EXPECT_EQ(curve.front().u, 0);
    EXPECT_EQ(curve.back().s, 0);
  });
}

TEST(Gzsl, EveryPointOfTheCurveIsExactlyTheEvaluationAtItsGamma) {
  for_problems(23, 100, [](Problem p, Rng& rng) {
    for (auto& v : p.unseen_scores) v += static_cast<float>(rng.normal());
    for (auto& v : p.seen_scores) v += static_cast<float>(rng.normal());
    const auto curve = p.at(0).curve;
    for (std::size_t k = 0; k < curve.size(); ++k) {
      const auto at = p.at(curve[k].gamma);
      EXPECT_EQ(at.u, curve[k].u);
      EXPECT_EQ(at.s, curve[k].s);
      if (k > 0) {
        EXPECT_LT(curve[k - 1].gamma, curve[k].gamma);
        EXPECT_LE(curve[k - 1].u, curve[k].u);
        EXPECT_GE(curve[k - 1].s, curve[k].s);
        EXPECT_TRUE(curve[k - 1].u < curve[k].u || curve[k - 1].s > curve[k].s);
      }
    }
    const double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(p.at(-inf).s, curve.front().s);
    EXPECT_EQ(p.at(inf).u, curve.back().u);
  });
}

TEST(Gzsl, AreaIsTheWeightedShareOfPairsInTheRightOrder) {
  // Like the area under a ROC curve: over pairs of an unseen and a seen sample that can be right, weighted by
  // 1 / (classes x samples of the class), the share where the unseen one turns right before the seen one turns wrong.
  for_problems(24, 300, [](const Problem& p, Rng&) {
    struct Weighted {
      double gamma, weight;
    };
    const auto able = [&](MatrixView<const float> scores, const Labels& labels, const Labels& own) {
      Labels occurring = labels;
      std::sort(occurring.begin(), occurring.end());
      const auto classes = std::unique(occurring.begin(), occurring.end()) - occurring.begin();
      std::vector<Weighted> found;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto first_best = [&](const Labels& list) {
          return *std::max_element(list.begin(), list.end(), [&](auto a, auto b) {
            return scores(i, static_cast<std::size_t>(a)) < scores(i, static_cast<std::size_t>(b));
          });
        };
        if (first_best(own) != labels[i]) continue;
        found.push_back({scores(i, static_cast<std::size_t>(first_best(p.seen))) -
                             scores(i, static_cast<std::size_t>(first_best(p.unseen))),
                         1.0 / static_cast<double>(classes * std::count(labels.begin(), labels.end(), labels[i]))});
      }
      return found;
    };
    double area = 0;
    for (const auto& u : able(p.u(), p.unseen_labels, p.unseen))
      for (const auto& s : able(p.s(), p.seen_labels, p.seen))
        area += u.weight * s.weight * (u.gamma < s.gamma ? 1 : u.gamma == s.gamma ? 0.5 : 0);
    EXPECT_NEAR(p.at(0).ausuc, 100 * area, 1e-10);
  });
}

TEST(Gzsl, ALadderOfFourSamplesByHand) {
  const auto result = ladder().at(2.5);
  EXPECT_DOUBLE_EQ(result.u, 50);
  EXPECT_DOUBLE_EQ(result.s, 50);
  EXPECT_DOUBLE_EQ(result.h, 50);
  const std::vector<TradeOff> want{
      {std::nextafter(1, 0), 0, 100}, {1, 50, 100}, {2, 50, 50}, {3, 100, 50}, {4, 100, 0}};
  ASSERT_EQ(result.curve.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(result.curve[k].gamma, want[k].gamma);
    EXPECT_DOUBLE_EQ(result.curve[k].u, want[k].u);
    EXPECT_DOUBLE_EQ(result.curve[k].s, want[k].s);
  }
  EXPECT_DOUBLE_EQ(result.ausuc, 100 * (0.5 * 1 + 0.5 * 0.5));
  expect_classes(result.unseen_classes, {{0, 1, 100}, {1, 1, 0}});
  expect_classes(result.seen_classes, {{2, 1, 0}, {3, 1, 100}});
}

TEST(Gzsl, ATieBetweenSeenAndUnseenGoesToTheUnseenClass) {
  const Problem p = ladder();
  EXPECT_DOUBLE_EQ(p.at(1).u, 50);
  EXPECT_DOUBLE_EQ(p.at(std::nextafter(1, 0)).u, 0);
  EXPECT_DOUBLE_EQ(p.at(2).s, 50);
  EXPECT_DOUBLE_EQ(p.at(std::nextafter(2, 0)).s, 100);
}

TEST(Gzsl, PerfectScoresHaveAPerfectGammaAndClassesWithoutSamplesTakeNoPartInTheMeans) {
  Problem p = ladder();
  p.unseen_scores = {9, 0, 1, 1, 0, 9, 1, 1};
  const auto at = p.at(p.best());
  EXPECT_DOUBLE_EQ(at.ausuc, 100);
  EXPECT_DOUBLE_EQ(at.h, 100);
  p = ladder();
  p.unseen_scores.resize(4);
  p.unseen_labels = {0};
  EXPECT_DOUBLE_EQ(p.at(2.5).u, 100);
  expect_classes(p.at(2.5).unseen_classes, {{0, 1, 100}});
}

TEST(Gzsl, RandomScoresAreRightByChanceOnly) {
  Rng rng(25);
  Problem p;
  p.classes = 10;
  p.unseen = {0, 1, 2, 3};
  p.seen = {4, 5, 6, 7, 8, 9};
  const auto fill = [&](std::vector<float>& scores, Labels& labels, const Labels& own) {
    labels.resize(6000);
    scores.resize(labels.size() * p.classes);
    for (auto& v : scores) v = static_cast<float>(rng.uniform());
    for (auto& l : labels) l = own[rng.below(own.size())];
  };
  fill(p.unseen_scores, p.unseen_labels, p.unseen);
  fill(p.seen_scores, p.seen_labels, p.seen);
  const auto at = p.at(0);
  EXPECT_NEAR(at.u, 10, 1.6);  // 4 standard deviations
  EXPECT_NEAR(at.s, 10, 1.6);
  EXPECT_NEAR(p.at(2).u, 25, 2.4);
  // A quarter and a sixth of the samples can be right, and half of their pairs are in the right order.
  EXPECT_NEAR(at.ausuc, 100 * 0.5 / 4 / 6, 0.3);
}

TEST(Gzsl, ABonusOnAllSeenScoresOnlyShiftsGamma) {
  for_problems(26, 50, [](const Problem& p, Rng&) {
    Problem shifted = p;
    for (auto* scores : {&shifted.unseen_scores, &shifted.seen_scores})
      for (std::size_t i = 0; i < scores->size(); i += p.classes)
        for (const auto c : p.seen) (*scores)[i + static_cast<std::size_t>(c)] += 0.75f;
    const auto a = p.at(0.25), b = shifted.at(1);
    EXPECT_EQ((std::array{a.u, a.s, a.ausuc}), (std::array{b.u, b.s, b.ausuc}));
    ASSERT_EQ(a.curve.size(), b.curve.size());
    for (std::size_t k = 1; k < a.curve.size(); ++k) EXPECT_EQ(a.curve[k].gamma + 0.75, b.curve[k].gamma);
    if (a.ausuc > 0) {
      EXPECT_EQ(p.best() + 0.75, shifted.best());
    }
  });
}

TEST(Gzsl, TheOrderOfSamplesChangesNothing) {
  for_problems(27, 50, [](const Problem& p, Rng& rng) {
    Problem mixed = p;
    const auto order = rng.permutation(p.seen_labels.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      mixed.seen_labels[i] = p.seen_labels[order[i]];
      std::copy_n(&p.seen_scores[order[i] * p.classes], p.classes, &mixed.seen_scores[i * p.classes]);
    }
    const auto a = p.at(0.5), b = mixed.at(0.5);
    EXPECT_EQ((std::array{a.h, a.ausuc, p.best()}), (std::array{b.h, b.ausuc, mixed.best()}));
  });
}

TEST(BestGamma, NoGammaOfADenseGridDoesBetter) {
  for_problems(28, 200, [](const Problem& p, Rng&) {
    double best = 0;
    for (const double gamma : dense_grid()) {
      const auto point = direct(p, gamma);
      best = std::max(best, harmonic(point.u, point.s));
    }
    EXPECT_NEAR(p.at(p.best()).h, best, 1e-10);
  });
}

TEST(BestGamma, IsTheMiddleOfTheWidestBestIntervalAndStaysInsideOneOfNeighbouringNumbers) {
  Problem p = ladder();  // H is 66.7 on [1, 2) and on [3, 4)
  EXPECT_DOUBLE_EQ(p.best(), 1.5);
  p.seen_scores[7] = 10;  // the second now reaches to 5
  EXPECT_DOUBLE_EQ(p.best(), 4);
  p.unseen_scores = {-0x1p-52f, -9, 1, -9};  // changes side at 1 + 2^-52,
  p.unseen_labels = {0};
  p.seen_scores = {-0x1p-51f, -9, 1, -9};  // and this one at the next number; their middle rounds to it
  p.seen_labels = {2};
  EXPECT_DOUBLE_EQ(p.at(p.best()).h, 100);
}

TEST(BestGamma, IsZeroWhereNothingCanBeGained) {
  Problem p = ladder();
  p.unseen_labels = {1, 0};  // no unseen sample can be right
  EXPECT_EQ(p.best(), 0);
  EXPECT_EQ(p.at(0).ausuc, 0);
  p.seen_labels = {3, 2};  // nor a seen one
  EXPECT_EQ(p.best(), 0);
  ASSERT_EQ(p.at(0).curve.size(), 1u);
  EXPECT_EQ(p.at(0).curve[0].s, 0);
}

template <class Spoil>
void expect_refusal(Spoil spoil, const std::string& part) {
  Problem p = ladder();
  spoil(p);
  test::expect_error([&] { p.count(); }, part);
}

TEST(Gzsl, RefusesWhatCannotBeEvaluated) {
  expect_refusal([](Problem& p) { p.seen.clear(); }, "seen classes: expected at least one class");
  expect_refusal([](Problem& p) { p.unseen.clear(); }, "unseen classes: expected at least one class");
  expect_refusal([](Problem& p) { p.seen = {2, 3, 1}; }, "no class that is also unseen, found class 1");
  expect_refusal([](Problem& p) { p.seen = {2, 4}; }, "seen classes: entry 1");
  expect_refusal([](Problem& p) { p.unseen_labels.clear(); }, "unseen scores: expected at least one sample");
  expect_refusal([](Problem& p) { p.seen_labels.clear(); }, "seen scores: expected at least one sample");
  expect_refusal([](Problem& p) { p.seen_labels[1] = 0; }, "seen scores: label 1");
  expect_refusal([](Problem& p) { p.unseen_labels[0] = 2; }, "unseen scores: label 0");
  expect_refusal([](Problem& p) { p.seen_scores[4] = std::nanf(""); }, "seen scores: row 1, class 0");
  expect_refusal([](Problem& p) { p.unseen_scores[3] = std::nanf(""); }, "unseen scores: row 0, class 3");
  expect_refusal([](Problem& p) { p.unseen_scores[0] = std::numeric_limits<float>::infinity(); }, "row 0, class 0");
  test::expect_error([] { ladder().at(std::nan("")); }, "gamma", ErrorCode::usage);
}

TEST(Counts, FiguresOfBlocksAreThoseOfTheWhole) {
  for_problems(7, 20, [](const Problem& p, Rng&) {
    AccuracyCount blocks(p.classes, p.unseen_labels, p.unseen);
    in_blocks(p.u(), 8, [&](std::size_t first, MatrixView<const float> some) { blocks.add(first, some); });
    expect_same(blocks.result(), accuracy_among(p.u(), p.unseen_labels, p.unseen));
    const GzslCount gzsl = p.count(8);
    EXPECT_EQ(gzsl.best_gamma(), p.best());
    const Gzsl found = gzsl.at(p.best()), whole = p.at(p.best());
    EXPECT_EQ(std::pair(found.h, found.ausuc), std::pair(whole.h, whole.ausuc));
  });
}

TEST(Counts, CorrectnessAddsUpToTheAccuracies) {
  const auto check = [](const std::vector<ClassAccuracy>& classes, const Labels& labels,
                        const std::vector<std::uint8_t>& correct) {
    ASSERT_EQ(correct.size(), labels.size());
    for (const auto& c : classes) {
      double right = 0;
      for (std::size_t i = 0; i < labels.size(); ++i) right += labels[i] == c.class_index && correct[i];
      EXPECT_EQ(c.top1, 100 * right / static_cast<double>(c.samples));
    }
  };
  for_problems(8, 20, [&](const Problem& p, Rng&) {
    AccuracyCount accuracy(p.classes, p.unseen_labels, p.unseen);
    accuracy.add(0, p.u());
    check(accuracy.result().classes, p.unseen_labels, accuracy.correct());
    const GzslCount gzsl = p.count(8);
    for (const double gamma : {-0.5, 0.0, 0.25, gzsl.best_gamma(), 1.0}) {  // of multiples of 1/16: with ties
      const Gzsl at = gzsl.at(gamma);
      check(at.unseen_classes, p.unseen_labels, gzsl.correct_unseen(gamma));
      check(at.seen_classes, p.seen_labels, gzsl.correct_seen(gamma));
    }
  });
}

TEST(Interval, HalfWidthIsStudentsQuantile) {
  // The root in x of scipy 1.10's tail probability (its t.ppf is right to 9 digits only), confirmed by mpmath's
  // betainc: python3 -c "from scipy.stats import t; from scipy.optimize import brentq for n in
  // (1,2,3,4,5,9,10,30,99,100,999,11787): print(n, brentq(lambda x: t.sf(x, n) - 0.025, 1, 20, xtol=1e-15))"
  using Known = std::pair<std::size_t, double>;
  for (const auto& [freedom, quantile] :
       {Known{1, 12.706204736174705}, Known{2, 4.3026527297494639}, Known{3, 3.1824463052837096},
        Known{4, 2.7764451051977944}, Known{5, 2.5705818356363155}, Known{9, 2.2621571627982055},
        Known{10, 2.2281388519862747}, Known{30, 2.0422724563012383}, Known{99, 1.9842169515864175},
        Known{100, 1.9839715185235523}, Known{999, 1.96234146113345}, Known{11787, 1.9601652665208215}}) {
    std::vector<double> values(freedom + 1, 0.0);
    values[0] = 1;
    const auto i = confidence_interval(values);
    const double n = static_cast<double>(values.size());
    EXPECT_NEAR((i.high - i.low) / 2 / (i.sd / std::sqrt(n)) / quantile, 1, 1e-11) << freedom;
    EXPECT_NEAR((i.high + i.low) / 2, 1 / n, 1e-14);
  }
}

TEST(Interval, AgreesWithScipyOnFiveRuns) {
  // python3 -c "import numpy as np; from scipy import stats as s; v = [61.2, 59.8, 63.1, 60.4, 62.0];
  //   print(np.mean(v), np.std(v, ddof=1), *s.t.interval(0.95, 4, np.mean(v), s.sem(v)))"
  const auto i = confidence_interval(std::vector<double>{61.2, 59.8, 63.1, 60.4, 62.0});
  EXPECT_NEAR(i.mean, 61.3, 1e-10);
  EXPECT_NEAR(i.sd, 1.303840481040531, 1e-10);
  EXPECT_NEAR(i.low, 59.68106821529129, 1e-10);
  EXPECT_NEAR(i.high, 62.918931784708704, 1e-10);
}

TEST(Interval, CoversTheTrueMeanInNineteenOfTwentyDraws) {
  Rng rng(41);
  int covered = 0;
  const int draws = 20000;
  for (int d = 0; d < draws; ++d) {
    std::vector<double> values(4);
    for (auto& v : values) v = 7 + 3 * rng.normal();
    const auto i = confidence_interval(values);
    covered += i.low <= 7 && 7 <= i.high;
  }
  EXPECT_NEAR(static_cast<double>(covered) / draws, 0.95, 0.0065);  // 4.2 standard deviations
}

TEST(Interval, EqualValuesHaveNoWidth) {
  for (const double value : {0.1, 61.7, -3.3}) {
    const auto i = confidence_interval(std::vector<double>(7, value));
    EXPECT_EQ((std::array{i.mean, i.sd, i.low, i.high}), (std::array{value, 0.0, value, value}));
  }
}

TEST(Interval, ALargeOffsetDoesNotHideTheSpreadAndOneValueHasAMeanButNoInterval) {
  const auto large = confidence_interval(std::vector<double>{1e9 + 1, 1e9 + 2, 1e9 + 3});
  EXPECT_DOUBLE_EQ(large.mean, 1e9 + 2);
  EXPECT_DOUBLE_EQ(large.sd, 1);
  const auto one = confidence_interval(std::vector<double>{5});
  EXPECT_EQ(one.mean, 5);
  EXPECT_TRUE(std::isnan(one.sd) && std::isnan(one.low) && std::isnan(one.high));
}

TEST(Interval, RefusesNoValuesAndValuesThatAreNotFinite) {
  for (const auto& values : {std::vector<double>{}, {1, std::nan("")}, {1, HUGE_VAL}})
    test::expect_error([&] { confidence_interval(values); });
}

using Flags = std::vector<std::uint8_t>;

TEST(Reliability, BinsAndErrorAreThoseOfBruteForce) {
  Rng rng(5);
  for (const std::size_t bins : {1, 4, 15}) {
    std::vector<float> confidences{0.0f, 1.0f, 0.25f, 0.5f, 0.75f};  // edges
    Flags correct{1, 0, 1, 0, 1};
    for (int i = 0; i < 500; ++i) {
      confidences.push_back(static_cast<float>(rng.uniform()));
      correct.push_back(rng.uniform() < 0.7);
    }
    const Reliability found = reliability(confidences, correct, bins);
    ASSERT_EQ(found.bins.size(), bins);
    EXPECT_EQ(found.samples, confidences.size());
    double error = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      double count = 0, confidence = 0, right = 0;
      for (std::size_t i = 0; i < confidences.size(); ++i) {
        const double scaled = static_cast<double>(confidences[i]) * static_cast<double>(bins);
        const bool above = scaled > static_cast<double>(b) || (b == 0 && scaled == 0);
        if (!above || scaled > static_cast<double>(b + 1)) continue;
        ++count;
        confidence += confidences[i];
        right += correct[i];
      }
      EXPECT_EQ(static_cast<double>(found.bins[b].samples), count) << b << " of " << bins;
      EXPECT_NEAR(found.bins[b].confidence, 100 * confidence / count, 1e-9);
      EXPECT_NEAR(found.bins[b].accuracy, 100 * right / count, 1e-9);
      error += std::abs(right - confidence);
    }
    EXPECT_NEAR(found.ece, 100 * error / static_cast<double>(confidences.size()), 1e-9);
    EXPECT_GT(found.ece, 1);
  }
}

TEST(Reliability, KnownCases) {
  const Reliability sure = reliability(std::vector<float>{1, 1}, Flags{1, 1});
  EXPECT_EQ(sure.ece, 0);
  EXPECT_EQ(sure.bins.size(), 15u);
  EXPECT_EQ(std::pair(sure.bins.front().samples, sure.bins.back().samples), std::pair(std::size_t{0}, std::size_t{2}));
  EXPECT_NEAR(reliability(std::vector<float>{0.75f, 0.75f}, Flags{1, 0}).ece, 25, 1e-9);
}

TEST(Reliability, RefusesWhatIsNoConfidence) {
  EXPECT_THROW(reliability({}, {}), Error);
  EXPECT_THROW(reliability(std::vector<float>{0.5f}, Flags{1, 0}), Error);
  EXPECT_THROW(reliability(std::vector<float>{0.5f}, Flags{1}, 0), Error);
  for (const float bad : {-0.1f, 1.1f, std::nanf("")}) EXPECT_THROW(reliability(std::vector{bad}, Flags{1}), Error);
}

TEST(ConfidenceCount, CountsWhatRankingAndItsSetsSayInAnyParts) {
  Rng rng(3);
  const std::size_t n = 300, c = 12;
  std::vector<std::uint8_t> seen(c);
  for (std::size_t k = 0; k < c; ++k) seen[k] = k % 3 != 0;
  const Ranking ranking(seen, 0.2, 0.3, {0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11});  // class 3 is no candidate
  std::vector<std::vector<float>> thresholds{std::vector<float>(c), std::vector<float>(c, 0.0f),
                                             std::vector<float>(c, 2.0f)};
  for (float& t : thresholds[0]) t = static_cast<float>(rng.uniform() * 0.3);
  Matrix<float> scores(n, c);
  for (float& s : scores.values()) s = static_cast<float>(rng.normal() * 0.3);
  std::vector<std::int32_t> labels(n);
  for (std::size_t i = 0; i < n; ++i) {
    labels[i] = ranking.candidates()[rng.below(11)];
    scores(i, static_cast<std::size_t>(labels[i])) += 0.5f;
  }
  std::vector<float> confidences;
  std::vector<std::uint8_t> correct;
  std::vector<double> covered(3), size(3);
  for (std::size_t i = 0; i < n; ++i) {
    RankedClass best;
    ranking.best(scores.row(i), {&best, 1});
    confidences.push_back(best.confidence);
    correct.push_back(best.class_index == labels[i]);
    for (std::size_t k = 0; k < 3; ++k) {
      const auto set = ranking.set(scores.row(i), thresholds[k]);
      size[k] += static_cast<double>(set.size()) / n;
      covered[k] += 100.0 / n * std::ranges::count(set, labels[i], &RankedClass::class_index);
    }
  }
  ConfidenceCount count(ranking, thresholds);
  for (std::size_t first = 0; first < n; first += 77)
    count.add(std::span(labels).subspan(first), {scores.row(first).data(), std::min<std::size_t>(77, n - first), c});
  const Reliability expected = reliability(confidences, correct), found = count.reliability();
  EXPECT_EQ(found.ece, expected.ece);
  EXPECT_EQ(found.samples, n);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(count.set(k).samples, n);
    EXPECT_NEAR(count.set(k).coverage, covered[k], 1e-9);
    EXPECT_NEAR(count.set(k).size, size[k], 1e-9);
  }
  EXPECT_EQ(count.set(1).size, 11) << "every candidate";
  EXPECT_EQ(count.set(2).size, 1) << "the best class alone";
  EXPECT_LT(count.set(0).coverage, 100);
  EXPECT_GT(count.set(0).coverage, count.set(2).coverage);
}

TEST(ConfidenceCount, WithoutSamplesThereIsNothingAndJsonHasNull) {
  const std::vector<std::uint8_t> seen{1, 0};
  const Ranking ranking(seen, 0, 1, Among::all);
  const ConfidenceCount count(ranking, {});
  EvaluationDetails result;
  result.seen_reliability = count.reliability();
  const std::vector<float> confidences{0.9f, 0.95f};
  result.unseen_reliability = reliability(confidences, std::vector<std::uint8_t>{1, 1}, 2);
  EXPECT_TRUE(sets_json(result).is_null());
  const auto json = reliability_json(result);
  EXPECT_TRUE(json["seen"].is_null());
  EXPECT_EQ(json["unseen"]["samples"], 2);
  EXPECT_TRUE(json["unseen"]["bins"][0]["accuracy"].is_null());
  EXPECT_EQ(json["unseen"]["bins"][1]["accuracy"], 100);
  result.sets = {{90, {}, {10, 80, 1.5}}};
  EXPECT_EQ(sets_json(result).dump(),
            R"([{"stated":90.0,"seen":null,"unseen":{"samples":10,"coverage":80.0,"size":1.5,)"
            R"("calibrated_on":"validation classes"}}])");
}

}  // namespace

}  // namespace parsnets
