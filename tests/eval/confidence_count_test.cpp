#include "eval/confidence_count.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"

namespace parsnets {
namespace {

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
