#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {
namespace {

Model bank(std::vector<std::uint8_t> seen, double gamma, double temperature) {
  Model model;
  for (std::size_t c = 0; c < seen.size(); ++c) model.classes.names.push_back("c" + std::to_string(c));
  model.classes.seen = std::move(seen);
  model.gamma = gamma;
  model.temperature = temperature;
  return model;
}

std::vector<std::int32_t> order_of(const Ranking& ranking, const std::vector<float>& scores) {
  std::vector<RankedClass> best(scores.size());
  best.resize(ranking.best(scores, best));
  std::vector<std::int32_t> order;
  for (const auto& one : best) order.push_back(one.class_index);
  return order;
}

using Order = std::vector<std::int32_t>;

TEST(Ranking, SubtractsGammaFromSeenClassesAndTiesGoToTheEarlierClass) {
  const Model model = bank({1, 1, 0, 0}, 0.25, 1);
  const std::vector<float> scores{0.75f, 0.9f, 0.5f, 0.5f};
  EXPECT_EQ(order_of(Ranking(model), scores), (Order{1, 0, 2, 3}));
  EXPECT_EQ(order_of(Ranking(model, Among::unseen), scores), (Order{2, 3}));
  EXPECT_EQ(order_of(Ranking(model, Among::seen), scores), (Order{1, 0}));
  EXPECT_EQ(order_of(Ranking(model, {3, 0}), scores), (Order{0, 3})) << "a tie after gamma";
  EXPECT_EQ(Ranking(model, {3, 0}).winner(scores), 0);
  EXPECT_FLOAT_EQ(Ranking(model).calibrated(scores, 1), 0.65f);
}

// At a low temperature the confidences of all but one class round to zero; scores still tell them apart.
TEST(Ranking, OrdersByScoresAlsoWhereConfidencesRoundToTheSameValue) {
  const Model model = bank({0, 0, 0, 0}, 0, 1e-6);
  const std::vector<float> scores{0.1f, 0.3f, 0.2f, 0.9f};
  EXPECT_EQ(order_of(Ranking(model), scores), (Order{3, 1, 2, 0}));
  std::vector<RankedClass> best(4);
  Ranking(model).best(scores, best);
  EXPECT_EQ(best[0].confidence, 1);
  EXPECT_EQ(best[1].confidence, best[3].confidence);
}

TEST(Ranking, ConfidencesAreTheSoftmaxOverTheCandidates) {
  const Model model = bank({1, 0, 1, 0, 0}, 0.1, 0.5);
  const std::vector<float> raw{0.2f, 0.4f, -0.3f, 0.9f, 0.1f};
  for (const Order& candidates : {Order{0, 1, 2, 3, 4}, Order{0, 2, 4}, Order{1}}) {
    const Ranking ranking(model, candidates);
    std::vector<float> all = raw;
    ranking.to_confidences(all);
    double sum = 0;
    for (const auto c : candidates) sum += std::exp(ranking.calibrated(raw, c) / 0.5);
    std::vector<RankedClass> best(candidates.size());
    ASSERT_EQ(ranking.best(raw, best), candidates.size());
    for (const auto& one : best) {
      const auto c = static_cast<std::size_t>(one.class_index);
      EXPECT_NEAR(one.confidence, std::exp(ranking.calibrated(raw, one.class_index) / 0.5) / sum, 1e-6);
      EXPECT_EQ(one.confidence, all[c]);
    }
    EXPECT_NEAR(std::accumulate(all.begin(), all.end(), 0.0), 1, 1e-6) << "the others have 0";
  }
}

// Scores of few values, so that ties are everywhere; more classes than a tile has.
TEST(Ranking, ManyClassesAreRankedAsASortDoes) {
  std::vector<std::uint8_t> seen(3 * Ranking::kTile + 77);
  std::vector<float> scores(seen.size());
  for (std::size_t c = 0; c < seen.size(); ++c) {
    seen[c] = c % 3 == 0;
    scores[c] = static_cast<float>((c * 7919) % 101) / 101;
  }
  const Model model = bank(seen, 0.125, 0.3);
  for (const Among among : {Among::all, Among::seen, Among::unseen}) {
    const Ranking ranking(model, among);
    Order expected(ranking.candidates().begin(), ranking.candidates().end());
    std::ranges::stable_sort(expected, std::greater{}, [&](std::int32_t c) { return ranking.calibrated(scores, c); });
    double sum = 0;
    for (const auto c : expected) sum += std::exp(ranking.calibrated(scores, c) / 0.3);
    std::vector<float> confidences = scores;
    ranking.to_confidences(confidences);
    for (const std::size_t k : {std::size_t{1}, std::size_t{7}, std::size_t{1500}, expected.size()}) {
      std::vector<RankedClass> best(std::min(k, expected.size()));
      ASSERT_EQ(ranking.best(scores, best), best.size());
      for (std::size_t i = 0; i < best.size(); ++i) {
        ASSERT_EQ(best[i].class_index, expected[i]) << "place " << i << " of " << k;
        ASSERT_EQ(best[i].score, ranking.calibrated(scores, expected[i]));
        ASSERT_NEAR(best[i].confidence / (std::exp(best[i].score / 0.3) / sum), 1, 1e-6);
        ASSERT_EQ(best[i].confidence, confidences[static_cast<std::size_t>(expected[i])]);
      }
    }
  }
}

TEST(Ranking, ASetHasTheBestClassAndThoseThatReachTheirThreshold) {
  const Model model = bank({1, 1, 0, 0, 0}, 0.1, 0.5);
  const std::vector<float> scores{0.5f, 0.9f, 0.2f, 0.7f, 0.7f};
  const Ranking ranking(model), without_last(model, {0, 1, 2, 3});
  const auto set_of = [&scores](const Ranking& one, const std::vector<float>& thresholds) {
    Order order;
    std::vector<RankedClass> all(5);
    all.resize(one.best(scores, all));
    for (const auto& member : one.set(scores, thresholds)) {
      const auto same = std::ranges::find(all, member.class_index, &RankedClass::class_index);
      EXPECT_EQ(member.confidence, same->confidence);
      EXPECT_EQ(member.score, same->score);
      order.push_back(member.class_index);
    }
    return order;
  };
  EXPECT_EQ(set_of(ranking, std::vector<float>(5, 0)), order_of(ranking, scores)) << "every class, best first";
  EXPECT_EQ(set_of(ranking, std::vector<float>(5, 1)), (Order{1})) << "never empty";
  std::vector<float> exact = scores;
  ranking.to_confidences(exact);
  EXPECT_EQ(set_of(ranking, {1, 1, exact[2], 1, exact[4]}), (Order{1, 4, 2})) << "thresholds belong to the set";
  EXPECT_EQ(set_of(without_last, std::vector<float>(5, 0)), (Order{1, 3, 0, 2}));
  EXPECT_THROW(ranking.set(scores, std::vector<float>(4)), Error);
}

TEST(Ranking, RefusesCandidatesThatAreNotThere) {
  const Model model = bank({1, 1}, 0, 1);
  for (const Order& bad : {Order{}, Order{-1}, Order{2}, Order{0, 0}})
    EXPECT_THROW(Ranking(model, bad), Error) << bad.size();
  EXPECT_THROW(Ranking(model, Among::unseen), Error);
}

}  // namespace
}  // namespace parsnets
