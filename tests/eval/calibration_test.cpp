#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "eval/metrics.hpp"
#include "eval/scoring.hpp"
#include "expect.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/training.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

using Labels = std::vector<std::int32_t>;

struct CalibrationProblem {
  std::size_t classes = 0;
  std::vector<float> scores;
  Labels labels, candidates;

  MatrixView<const float> view() const { return {scores.data(), labels.size(), classes}; }
  double fit(unsigned threads = 1) const {  // in blocks of 96 rows
    ThreadPool pool(threads);
    const auto all = [&](const ScoreVisitor& visit) {
      for (std::size_t first = 0; first < labels.size(); first += 96)
        visit(first, {view().row(first).data(), std::min<std::size_t>(96, labels.size() - first), classes});
    };
    return fit_temperature(
        classes, all, [](const ScoreVisitor&) {}, {{labels, candidates}, {}}, 0, pool);
  }

  double loss(double t) const {
    double sum = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      double top = -1e300, total = 0;
      for (const auto c : candidates) top = std::max(top, view()(i, static_cast<std::size_t>(c)) / t);
      for (const auto c : candidates) total += std::exp(view()(i, static_cast<std::size_t>(c)) / t - top);
      sum += top + std::log(total) - view()(i, static_cast<std::size_t>(labels[i])) / t;
    }
    return sum / static_cast<double>(labels.size());
  }
};

/// Labels drawn from softmax(scores / temperature).
CalibrationProblem drawn(Rng& rng, std::size_t n, std::size_t classes, double scale, double temperature) {
  CalibrationProblem p;
  p.classes = classes;
  p.candidates.resize(classes);
  std::iota(p.candidates.begin(), p.candidates.end(), 0);
  p.scores.resize(n * classes);
  for (auto& v : p.scores) v = static_cast<float>(scale * rng.normal());
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> weight(classes);
    for (std::size_t c = 0; c < classes; ++c) weight[c] = std::exp(p.scores[i * classes + c] / temperature);
    double left = rng.uniform() * std::accumulate(weight.begin(), weight.end(), 0.0);
    std::size_t label = 0;
    while (label + 1 < classes && left >= weight[label]) left -= weight[label++];
    p.labels.push_back(static_cast<std::int32_t>(label));
  }
  return p;
}

TEST(Temperature, HasTheSameBitsForAnyNumberOfThreads) {
  Rng rng(5);
  const CalibrationProblem p = drawn(rng, 700, 9, 2, 0.5);
  EXPECT_EQ(p.fit(1), p.fit(3));
}

TEST(Temperature, NoTemperatureOfADenseGridFitsBetter) {
  Rng rng(31);
  for (int problem = 0; problem < 30; ++problem) {
    const double scale = std::pow(10.0, 2 * rng.normal());
    const CalibrationProblem p =
        drawn(rng, 60 + rng.below(100), 2 + rng.below(8), scale, scale * (0.3 + rng.uniform()));
    const double t = p.fit(), loss = p.loss(t);
    double best = 1e300, best_t = 0;
    for (double log_t = std::log(scale) - 5; log_t <= std::log(scale) + 7; log_t += 0.01) {
      const double there = p.loss(std::exp(log_t));
      EXPECT_GE(there, loss - 1e-12) << t << ' ' << std::exp(log_t);
      if (there < best) {
        best = there;
        best_t = std::exp(log_t);
      }
    }
    EXPECT_NEAR(std::log(t), std::log(best_t), 0.0101);
  }
}

TEST(Temperature, IsTheZeroOfTheSlopeToTenDigits) {
  Rng rng(32);
  for (int problem = 0; problem < 20; ++problem) {
    const CalibrationProblem p = drawn(rng, 200, 2 + rng.below(6), 3, 0.5 + rng.uniform());
    // The slope over 1/t is the mean of (expected score − score of the label); halve until its sign is pinned down.
    double low = 1e-3, high = 1e3;
    for (int halving = 0; halving < 100; ++halving) {
      const double t = std::sqrt(low * high);
      double slope = 0;
      for (std::size_t i = 0; i < p.labels.size(); ++i) {
        double total = 0, expected = 0;
        const double own = p.view()(i, static_cast<std::size_t>(p.labels[i]));
        for (const float z : p.view().row(i)) {
          const double w = std::exp(std::min(700.0, (z - own) / t));
          total += w;
          expected += w * (z - own);
        }
        slope += expected / total;
      }
      (slope > 0 ? low : high) = t;
    }
    EXPECT_NEAR(p.fit() / low, 1, 1e-10);
  }
}

TEST(Temperature, RecoversTheOneTheLabelsWereDrawnWith) {
  Rng rng(33);
  for (const double truth : {0.3, 1.0, 4.0}) EXPECT_NEAR(drawn(rng, 40000, 5, 3, truth).fit() / truth, 1, 0.03);
}

TEST(Temperature, ScalesWithTheScoresAndIgnoresAShiftOfARow) {
  Rng rng(34);
  const CalibrationProblem p = drawn(rng, 300, 5, 2, 1);
  CalibrationProblem scaled = p, shifted = p;
  for (auto& v : scaled.scores) v *= 1024;
  for (std::size_t i = 0; i < shifted.scores.size(); ++i) shifted.scores[i] += static_cast<float>(i / p.classes % 7);
  EXPECT_NEAR(scaled.fit() / (1024 * p.fit()), 1, 1e-11);
  EXPECT_NEAR(shifted.fit() / p.fit(), 1, 1e-5);  // the shifted scores are rounded to float
}

TEST(Temperature, OnlyCandidatesCount) {
  Rng rng(35);
  const CalibrationProblem p = drawn(rng, 300, 4, 2, 1);
  CalibrationProblem wide;
  wide.classes = 6;
  wide.candidates = {4, 1, 3, 2};
  for (std::size_t i = 0; i < p.labels.size(); ++i) {
    const float* z = &p.scores[i * 4];
    for (const float v : {std::nanf(""), z[1], z[3], z[2], z[0], 99.0f}) wide.scores.push_back(v);
    wide.labels.push_back(wide.candidates[static_cast<std::size_t>(p.labels[i])]);
  }
  EXPECT_NEAR(wide.fit() / p.fit(), 1, 1e-9);
}

TEST(Temperature, EndsAreFiniteAndFollowTheSpread) {
  CalibrationProblem p;
  p.classes = 2;
  p.candidates = {0, 1};
  p.scores = {3, 1, 0, 2};
  p.labels = {0, 1};
  EXPECT_NEAR(p.fit(), 2e-4, 1e-12);  // all right: the sharper the better
  p.labels = {1, 0};
  EXPECT_NEAR(p.fit(), 2e4, 1e-4);  // all wrong: the flatter the better
  p.scores = {1, 1, 2, 2};
  EXPECT_EQ(p.fit(), 1);
  p.scores = {3e38f, -3e38f, -3e38f, 3e38f};
  EXPECT_TRUE(std::isfinite(p.fit()));
  p.scores = {1e-45f, 0, 0, 1e-45f};
  EXPECT_TRUE(std::isfinite(p.fit()) && p.fit() > 0);
}

TEST(Temperature, OfSeenAndUnseenSamplesIsThatOfAllWithGammaTakenOffKeptOrNot) {
  Rng rng(37);
  CalibrationProblem p = drawn(rng, 100, 5, 2, 1);
  const Labels seen{0, 2, 3}, unseen{1, 4};
  const double gamma = 0.25;
  std::vector<float> scores[2];
  Labels labels[2];  // unseen and seen
  for (std::size_t i = 0; i < p.labels.size(); ++i) {
    const bool is_seen = std::ranges::count(seen, p.labels[i]) > 0;
    labels[is_seen].push_back(p.labels[i]);
    for (const float v : p.view().row(i)) scores[is_seen].push_back(v);
  }
  for (const auto c : seen)
    for (std::size_t i = 0; i < p.labels.size(); ++i)
      p.scores[i * p.classes + static_cast<std::size_t>(c)] -= static_cast<float>(gamma);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    int visits = 0;
    const auto source = [&](int side) {
      const MatrixView<const float> rows(scores[side].data(), labels[side].size(), p.classes);
      const auto counted = [&visits, rows](const ScoreVisitor& visit) {
        ++visits;
        visit(0, rows);
      };
      return kept(counted, rows.rows(), rows.cols(), bytes);
    };
    ThreadPool pool(2);
    const double found =
        fit_temperature(p.classes, source(0), source(1), {{labels[0], unseen}, {labels[1], seen}}, gamma, pool);
    EXPECT_NEAR(found / p.fit(), 1, 1e-10);
    if (bytes == 0)
      EXPECT_GT(visits, 6);
    else
      EXPECT_EQ(visits, 2) << "kept from the first visit on";
  }
}

TEST(Temperature, RefusesWhatCannotBeFitted) {
  Rng rng(36);
  const CalibrationProblem good = drawn(rng, 10, 3, 1, 1);
  const auto refuse = [&](auto spoil) {
    CalibrationProblem p = good;
    spoil(p);
    test::expect_error([&] { p.fit(); });
  };
  refuse([](CalibrationProblem& p) { p.scores[4] = std::nanf(""); });
  refuse([](CalibrationProblem& p) { p.candidates.clear(); });
  refuse([](CalibrationProblem& p) { p.labels.clear(); });
  refuse([](CalibrationProblem& p) { p.labels[0] = 3; });
}

}  // namespace

TEST(CalibrateModel, GammaAndTemperatureAreTheBestOfAFineGrid) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  Model model = train(data, test::small_options("ridge"), pool);
  std::vector<std::int32_t> rows = data.split.test_seen;
  rows.insert(rows.end(), data.split.test_unseen.begin(), data.split.test_unseen.end());
  const Matrix<float> x = gather_rows(data.features.view(), rows);
  const auto labels = labels_of(data, rows);
  calibrate(model, x.view(), labels, pool);

  const Matrix<float> scores = model.scores(x.view(), pool);
  const auto harmonic = [&](double gamma) {
    std::vector<double> right(data.classes(), 0), all(data.classes(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::size_t best = 0;
      double top = -1e30;
      for (std::size_t c = 0; c < data.classes(); ++c)
        if (const double s = scores(i, c) - (model.classes.seen[c] ? gamma : 0); s > top) top = s, best = c;
      all[static_cast<std::size_t>(labels[i])] += 1;
      right[static_cast<std::size_t>(labels[i])] += best == static_cast<std::size_t>(labels[i]);
    }
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (std::size_t c = 0; c < data.classes(); ++c)
      if (all[c] > 0) sum[model.classes.seen[c]] += right[c] / all[c], count[model.classes.seen[c]] += 1;
    const double u = sum[0] / count[0], s = sum[1] / count[1];
    return u + s > 0 ? 2 * u * s / (u + s) : 0;
  };
  for (double gamma = -2; gamma <= 2; gamma += 0.002) EXPECT_LE(harmonic(gamma), harmonic(model.gamma) + 1e-9) << gamma;

  const auto loss = [&](double temperature) {
    const Ranking ranking(model.classes.seen, model.gamma, temperature, Among::all);
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<float> row(scores.row(i).begin(), scores.row(i).end());
      ranking.to_confidences(row);
      sum -= std::log(std::max(1e-30, static_cast<double>(row[static_cast<std::size_t>(labels[i])])));
    }
    return sum;
  };
  const double best = loss(model.temperature);
  for (const double factor : {0.5, 0.9, 1.1, 2.0}) EXPECT_GT(loss(model.temperature * factor), best) << factor;
}

TEST(CalibrateModel, WrongLabelsAreRefusedAndChangeNothing) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(1);
  Model model = train(data, test::small_options("ridge"), pool);
  const double gamma = model.gamma;
  for (const Labels& labels : {Labels{0}, Labels(data.samples(), 99), Labels(data.samples(), data.unseen_classes()[0])})
    test::expect_error([&] { calibrate(model, data.features.view(), labels, pool); });
  EXPECT_EQ(model.gamma, gamma);
}

}  // namespace parsnets
