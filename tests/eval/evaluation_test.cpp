#include "parsnets/evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/rows.hpp"
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
  TrainedModel t(Method::ridge);
  const auto result = evaluate(t.model, t.data, t.pool);
  EXPECT_EQ(result.correct.zsl, slow_correctness(t, t.data.split.test_unseen, false, t.pool));
  EXPECT_EQ(result.correct.unseen, slow_correctness(t, t.data.split.test_unseen, true, t.pool));
  EXPECT_EQ(result.correct.seen, slow_correctness(t, t.data.split.test_seen, true, t.pool));
  const auto share = [](const std::vector<std::uint8_t>& correct) {
    return static_cast<double>(std::ranges::count(correct, 1)) / static_cast<double>(correct.size());
  };
  for (const auto* correct : {&result.correct.zsl, &result.correct.unseen, &result.correct.seen}) {
    EXPECT_GT(share(*correct), 0.05);
    EXPECT_LT(share(*correct), 1);
  }
  EXPECT_DOUBLE_EQ(100 * share(result.correct.zsl), result.zsl.top1);
}

TEST(Evaluation, WithoutTestSamplesOfSeenClassesThereIsCorrectnessOfZslAlone) {
  TrainedModel t(Method::ridge);
  t.data.split.test_seen.clear();
  const auto result = evaluate(t.model, t.data, t.pool);
  EXPECT_EQ(result.correct.zsl.size(), t.data.split.test_unseen.size());
  EXPECT_TRUE(result.correct.unseen.empty());
  EXPECT_TRUE(result.correct.seen.empty());
}

}  // namespace parsnets::test
