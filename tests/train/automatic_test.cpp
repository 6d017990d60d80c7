#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "parsnets/evaluation.hpp"
#include "same_bytes.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

struct Automatic : test::SmallTraining {
  const TrainOptions options = test::options_with("parsnets", "search=auto;time-budget=0");
};

double best(const std::vector<SelectionStep>& trace) {
  double most = 0;
  for (const auto& step : trace) most = std::max(most, step.zsl + step.h);
  return most;
}

TEST_F(Automatic, TheBestOfItsTraceReplacesTheDefaultOptionsWhereItPays) {
  const TrainRecord record = train(data, options, pool).record;
  const auto& trace = record.selection;
  ASSERT_GT(trace.size(), 80u);
  const ValidationRecord& found = record.validation;
  const auto usual = std::ranges::find_if(trace, [](const auto& step) { return step.choice.starts_with("defaults"); });
  ASSERT_NE(usual, trace.end());
  EXPECT_EQ(found.default_zsl, usual->zsl);
  EXPECT_EQ(found.default_h, usual->h);
  EXPECT_GT(found.gain_error, 0);
  const bool pays = found.gain > found.gain_error;
  EXPECT_EQ(record.chosen == usual->choice, !pays);
  EXPECT_NEAR(found.zsl + found.h, pays ? best(trace) : usual->zsl + usual->h, 0.01);
  EXPECT_TRUE(trace[0].choice.starts_with("class space"));
  EXPECT_TRUE(record.left_out.empty());
}

TEST_F(Automatic, LeavesOptionsThatAreSetAloneAndKeepsToItsTimeBudget) {
  TrainOptions limited = test::options_with("parsnets", "search=auto;feature-scaling=l2");
  limited.search.time_budget = std::numeric_limits<double>::min();  // used up as soon as any time has passed
  const Model model = train(data, limited, pool);
  const auto chosen = nlohmann::json::parse(model.options);
  EXPECT_EQ(chosen["feature-scaling"], "l2");
  EXPECT_EQ(model.record.selection.size(), 2u) << "one path is always looked at, and the default options";
  EXPECT_TRUE(model.record.selection[1].choice.starts_with("defaults"));
  EXPECT_GE(model.record.left_out.size(), 5u);
}

TEST_F(Automatic, IsTheSameForOneAndTwoThreads) {
  data = test::small_training_set(9);
  ThreadPool one(1), two(2);
  const Model a = train(data, options, one), b = train(data, options, two);
  EXPECT_TRUE(a.record == b.record);
  EXPECT_TRUE(test::same_bytes(a.options, b.options));
  EXPECT_EQ(a.gamma, b.gamma);
}

TEST_F(Automatic, AVerySmallDataSetIsSearchedToo) {
  data = synthesize({.classes = 8, .attributes = 6, .samples = 80, .dimensions = 10});
  EXPECT_NO_THROW(evaluate(train(data, options, pool), data, pool));
}

}  // namespace
}  // namespace parsnets
