#include <gtest/gtest.h>

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

TEST_F(Automatic, ItsChoiceDoesNotFallBehindAnyOfItsTrace) {
  const TrainRecord record = train(data, options, pool).record;
  const auto& trace = record.selection;
  ASSERT_GT(trace.size(), 80u);
  const double reached = record.validation.zsl + record.validation.h;
  for (const auto& step : trace) EXPECT_LE(step.zsl + step.h, reached + 0.01) << step.choice;
  EXPECT_TRUE(trace[0].choice.starts_with("class space"));
  EXPECT_TRUE(record.left_out.empty());
}

TEST_F(Automatic, LeavesOptionsThatAreSetAloneAndKeepsToItsTimeBudget) {
  TrainOptions limited = test::options_with("parsnets", "search=auto;feature-scaling=l2");
  limited.search.time_budget = std::numeric_limits<double>::min();  // used up as soon as any time has passed
  const Model model = train(data, limited, pool);
  const auto chosen = nlohmann::json::parse(model.options);
  EXPECT_EQ(chosen["feature-scaling"], "l2");
  EXPECT_EQ(model.record.selection.size(), 1u) << "one path is always looked at";
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
