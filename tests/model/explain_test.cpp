#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "parsnets/model.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using Trained = test::TrainedModel;

TrainOptions with_width(const std::string& width) {
  return test::small_options("parsnets", "prototype-width=" + width);
}

TEST(Explain, ContributionsAddUpToTheDifferenceOfTheScores) {
  for (const auto& options : {test::small_options("scln"), with_width("0"), with_width("0.7"),
                              test::small_options("paper", "fit=ridge;semantic-whitening=0.25")}) {
    Trained t(options);
    for (std::size_t r = 0; r < t.data.samples(); r += 37) {
      const Explanation why = explain(t.model, t.data.features.row(r), t.pool);
      double sum = why.calibration + why.examples;
      for (const auto& c : why.attributes) sum += c.amount;
      ASSERT_NEAR(sum, why.winner_score - why.runner_up_score, 1e-4) << "sample " << r;
      EXPECT_TRUE(std::ranges::is_sorted(why.attributes, std::greater{},
                                         [](const Contribution& c) { return std::abs(c.amount); }));
    }
  }
}

TEST(Explain, NamesTheBestClassTheSecondAndTheActiveNetworks) {
  Trained t(with_width("1"));
  ASSERT_NE(t.model.gamma, 0);
  const Explanation why = explain(t.model, t.data.features.row(5), t.pool);
  Matrix<float> scores = t.model.scores({t.data.features.row(5).data(), 1, t.data.features.cols()}, t.pool);
  for (std::size_t c = 0; c < scores.cols(); ++c)
    if (t.model.classes.seen[c]) scores(0, c) -= static_cast<float>(t.model.gamma);
  EXPECT_EQ(why.winner, std::ranges::max_element(scores.values()) - scores.values().begin());
  scores(0, static_cast<std::size_t>(why.winner)) = -9;
  EXPECT_EQ(why.runner_up, std::ranges::max_element(scores.values()) - scores.values().begin());
  EXPECT_EQ(why.open_networks.size(), 3u);
}

/// A contribution by its definition: many small steps along the line, and at each the score's change when attribute j
/// alone moves by its part of the step.
double slow_contribution(Trained& t, std::span<const float> x, std::size_t winner, std::size_t other, std::size_t j) {
  constexpr int kSteps = 400;
  Model& model = t.model;
  const std::vector<float> from(model.classes.semantics.row(other).begin(), model.classes.semantics.row(other).end()),
      to(model.classes.semantics.row(winner).begin(), model.classes.semantics.row(winner).end());
  std::vector<float> a(from.size());
  double sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<float>(from[i] + (step + 0.5) / kSteps * (to[i] - from[i]));
    const double reach = 0.2 * (to[j] - from[j]);
    double change = 0;
    for (const double sign : {1.0, -1.0}) {
      std::vector<float> moved = a;
      moved[j] = static_cast<float>(moved[j] + sign * reach / 2);
      model.add_class("on the line", moved);
      const Matrix<float> scores = model.scores({x.data(), 1, x.size()}, t.pool);
      change += sign * scores(0, scores.cols() - 1);
      model.remove_class("on the line");
    }
    sum += change / 0.2 / kSteps;
  }
  return sum;
}

TEST(Explain, AContributionIsTheIntegralOfTheScoresSlope) {
  // Between two unseen classes: their places depend on the semantics alone.
  // The line of prepared semantics is that of raw ones.
  Trained t(test::small_options("parsnets", "prototype-width=1;semantic-scaling=none"));
  const auto unseen = t.data.unseen_classes();
  std::vector<std::string> others;
  for (std::size_t c = 0; c < t.data.classes(); ++c)
    if (static_cast<std::int32_t>(c) != unseen[0] && static_cast<std::int32_t>(c) != unseen[1])
      others.push_back(t.data.class_names[c]);
  t.model.remove_classes(others);
  const auto x = t.data.features.row(static_cast<std::size_t>(t.data.split.test_unseen[0]));
  const Explanation why = explain(t.model, x, t.pool);
  EXPECT_EQ(why.examples, 0);
  for (std::size_t k = 0; k < 4; ++k) {
    const auto& c = why.attributes[k];
    const double slow =
        slow_contribution(t, x, static_cast<std::size_t>(why.winner), static_cast<std::size_t>(why.runner_up), c.index);
    EXPECT_NEAR(c.amount, slow, 2e-3 + 0.01 * std::abs(c.amount));
  }
}

TEST(Explain, PredictsTheAttributesOfASample) {
  // The means of predictions over the samples of seen classes lie near the classes' own attributes.
  Trained t(with_width("1"));
  double right = 0, count = 0;
  const Matrix<float> predicted = t.model.predict_semantics(t.data.features.view(), t.pool);
  std::vector<std::vector<float>> wanted;
  for (std::size_t c = 0; c < t.data.classes(); ++c) {
    const auto row = t.data.semantics.values.row(c);
    wanted.emplace_back(row.begin(), row.end());
    t.model.semantic_preprocess.apply(wanted.back());
  }
  for (const auto r : t.data.split.trainval) {
    const auto f = predicted.row(static_cast<std::size_t>(r));
    const auto distance = [&](std::size_t c) {
      double sum = 0;
      for (std::size_t j = 0; j < f.size(); ++j) sum += std::pow(f[j] - wanted[c][j], 2);
      return sum;
    };
    std::size_t best = 0;
    for (std::size_t c = 1; c < wanted.size(); ++c)
      if (distance(c) < distance(best)) best = c;
    right += static_cast<std::int32_t>(best) == t.data.labels[static_cast<std::size_t>(r)] ? 1 : 0;
    ++count;
  }
  EXPECT_GT(right / count, 0.5);  // of 16 classes
}

}  // namespace
}  // namespace parsnets
