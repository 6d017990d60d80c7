#include "parsnets/evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "eval/metrics.hpp"
#include "parsnets/predictor.hpp"
#include "small_training.hpp"

namespace parsnets::test {

namespace {

/// The class with the best score, with gamma subtracted from seen ones; ties as evaluate() settles them do not occur.
std::int32_t predicted(const Model& model, std::span<const float> scores, bool all, const Dataset& data) {
  double best = -1e300;
  std::int32_t found = -1;
  for (std::size_t c = 0; c < scores.size(); ++c) {
    const bool seen = model.classes.seen[c];
    if (seen && !all) continue;
    const double score = scores[c] - (seen ? model.gamma : 0);
    if (score <= best) continue;
    best = score;
    found = static_cast<std::int32_t>(std::ranges::find(data.class_names, model.classes.names[c]) -
                                      data.class_names.begin());
  }
  return found;
}

std::vector<std::uint8_t> slow_correctness(const TrainedModel& t, const std::vector<std::int32_t>& rows, bool all,
                                           ThreadPool& pool) {
  const auto scores = t.model.scores(gather_rows(t.data.features.view(), rows).view(), pool);
  std::vector<std::uint8_t> correct;
  for (std::size_t i = 0; i < rows.size(); ++i)
    correct.push_back(predicted(t.model, scores.row(i), all, t.data) ==
                      t.data.labels[static_cast<std::size_t>(rows[i])]);
  return correct;
}

}  // namespace

TEST(Evaluation, CorrectnessIsThatOfEachSampleInTheOrderOfTheSplit) {
  TrainedModel t("ridge");
  const auto result = evaluate(t.model, t.data, t.pool);
  EXPECT_EQ(result.details->correct.zsl, slow_correctness(t, t.data.split.test_unseen, false, t.pool));
  EXPECT_EQ(result.details->correct.unseen, slow_correctness(t, t.data.split.test_unseen, true, t.pool));
  EXPECT_EQ(result.details->correct.seen, slow_correctness(t, t.data.split.test_seen, true, t.pool));
  const auto share = [](const std::vector<std::uint8_t>& correct) {
    return static_cast<double>(std::ranges::count(correct, 1)) / static_cast<double>(correct.size());
  };
  for (const auto* correct :
       {&result.details->correct.zsl, &result.details->correct.unseen, &result.details->correct.seen}) {
    EXPECT_GT(share(*correct), 0.05);
    EXPECT_LT(share(*correct), 1);
  }
  EXPECT_DOUBLE_EQ(100 * share(result.details->correct.zsl), result.zsl.top1);
}

// By predictions and sets of the whole bank, whose order is not that of the data set.
TEST(Evaluation, SetsAndReliabilityAreThoseOfTheModelsOwnRanking) {
  TrainedModel t("ridge");
  Rng rng(4);
  for (std::uint32_t c = 0; c < t.model.classes.names.size(); ++c)
    for (int i = 0; t.model.classes.seen[c] && i < 30; ++i) {
      t.model.sets.seen.push_back(static_cast<float>(rng.uniform() * (c % 2 ? 0.2 : 0.8)));
      t.model.sets.seen_classes.push_back(c);
    }
  t.model.sets.unseen = {0.02f, 0.03f, 0.05f, 0.08f, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  std::ranges::reverse(t.data.class_names);
  for (auto& label : t.data.labels) label = static_cast<std::int32_t>(t.data.class_names.size()) - 1 - label;
  Matrix<float>& semantics = t.data.semantics.values;
  for (std::size_t a = 0, b = semantics.rows() - 1; a < b; ++a, --b)
    std::swap_ranges(semantics.row(a).begin(), semantics.row(a).end(), semantics.row(b).begin());
  const std::vector<double> coverages{0.5, 0.9};
  const auto result = evaluate(t.model, t.data, t.pool, nullptr, false, nullptr, coverages);
  ASSERT_EQ(result.details->sets.size(), 2u);
  const Ranking ranking(t.model);
  for (const bool unseen : {false, true}) {
    const auto& rows = unseen ? t.data.split.test_unseen : t.data.split.test_seen;
    const auto scores = t.model.scores(gather_rows(t.data.features.view(), rows).view(), t.pool);
    std::vector<float> confidences;
    std::vector<std::uint8_t> correct;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto thresholds = t.model.sets.thresholds(coverages[k], t.model.classes.seen);
      double covered = 0, size = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto set = ranking.set(scores.row(i), thresholds);
        const auto& label =
            t.data.class_names[static_cast<std::size_t>(t.data.labels[static_cast<std::size_t>(rows[i])])];
        const auto is_label = [&](const RankedClass& one) {
          return t.model.classes.names[static_cast<std::size_t>(one.class_index)] == label;
        };
        covered += std::ranges::any_of(set, is_label);
        size += static_cast<double>(set.size());
        if (k > 0) continue;
        confidences.push_back(set[0].confidence);
        correct.push_back(is_label(set[0]));
      }
      const SetSide& side = unseen ? result.details->sets[k].unseen : result.details->sets[k].seen;
      const auto n = static_cast<double>(rows.size());
      EXPECT_EQ(result.details->sets[k].stated, 100 * coverages[k]);
      EXPECT_EQ(side.samples, rows.size());
      EXPECT_NEAR(side.coverage, 100 * covered / n, 1e-9);
      EXPECT_NEAR(side.size, size / n, 1e-9);
      EXPECT_GT(side.size, 1);
    }
    const Reliability& found = unseen ? result.details->unseen_reliability : result.details->seen_reliability;
    EXPECT_NEAR(found.ece, reliability(confidences, correct).ece, 1e-4);
  }
}

TEST(Evaluation, WithoutTestSamplesOfSeenClassesAndCalibrationThereIsZslAlone) {
  TrainedModel t("ridge");
  t.data.split.test_seen.clear();
  const auto result = evaluate(t.model, t.data, t.pool);
  const EvaluationDetails& details = *result.details;
  EXPECT_EQ(details.correct.zsl.size(), t.data.split.test_unseen.size());
  EXPECT_TRUE(details.correct.unseen.empty() && details.correct.seen.empty());
  EXPECT_TRUE(details.sets.empty());
  EXPECT_TRUE(details.seen_reliability.bins.empty());
  EXPECT_EQ(details.unseen_reliability.samples, t.data.split.test_unseen.size());
}

}  // namespace parsnets::test
