#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "data/semantics.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "small_training.hpp"
#include "train/selection.hpp"
#include "train/train_statistics.hpp"

namespace parsnets {
namespace {

/// The attributes of the set, a noisy half in each of two tables, and noise alone in the second where `noise` says so.
Dataset halves(bool noise) {
  Dataset data = synthesize({.classes = 40,
                             .attributes = 24,
                             .samples = 2000,
                             .dimensions = 60,
                             .attribute_noise = 0.3,
                             .signature = 0.1,
                             .nuisance = 0.6,
                             .hidden = 64});
  Rng rng(4);
  for (std::size_t c = 0; c < data.classes() && noise; ++c)
    for (std::size_t j = 12; j < 24; ++j) data.semantics.values(c, j) = static_cast<float>(rng.normal());
  data.semantics.name = "a,b";
  data.semantics.tables = {{"a", 12}, {"b", 12}};
  return data;
}

Dataset with_table(std::size_t t) {
  Dataset data = halves(false);
  data.semantics = table_of(data.semantics, t);
  return data;
}

struct SemanticWeights : testing::Test {
  ThreadPool pool{2};
  double zsl(const Model& model, const Dataset& data) { return evaluate(model, data, pool).zsl.top1_per_class; }
};

TEST_F(SemanticWeights, CandidatesSumToOneAndChangeOneTable) {
  const auto two = weights_around({0.5, 0.5});
  ASSERT_EQ(two.size(), 9u);
  EXPECT_EQ(weights_text(two[1]), "0.1:0.9");
  const auto three = weights_around({0.2, 0.2, 0.6});
  EXPECT_EQ(three.size(), 27u);
  for (const auto& w : three) EXPECT_NEAR(std::accumulate(w.begin(), w.end(), 0.0), 1, 1e-5);
  EXPECT_NEAR(three[4][2] / three[4][1], 3, 1e-4) << "the others keep their proportions";
}

TEST_F(SemanticWeights, ThreeTablesAreSearchedByCoordinates) {
  // A figure with its best at 0.7, 0.2, 0.1: no single step from equal weights reaches it.
  std::size_t calls = 0;
  const auto chosen = search_weights(3, [&](const std::vector<TableWeights>& weights) {
    ++calls;
    std::vector<SelectionStep> steps;
    for (const auto& w : weights) {
      const double figure = 80 - 50 * (std::abs(w[0] - 0.7) + std::abs(w[1] - 0.2) + std::abs(w[2] - 0.1));
      steps.push_back({weights_text(w), figure, figure});
    }
    return steps;
  });
  EXPECT_GT(calls, 1u);
  EXPECT_EQ(chosen.trace.size(), 27 * calls);
  EXPECT_NEAR(chosen.weights[0], 0.7, 0.06);
  EXPECT_NEAR(chosen.weights[2], 0.1, 0.06);
}

TEST_F(SemanticWeights, TwoTablesTogetherBeatEachAlone) {
  const Dataset both = halves(false);
  const Model model = train(both, {}, pool);
  const double together = zsl(model, both);
  for (const std::size_t t : {0u, 1u}) {
    const Dataset alone = with_table(t);
    EXPECT_GT(together, zsl(train(alone, {}, pool), alone) + 2) << t;
  }
  EXPECT_EQ(model.record.data.semantics, "a,b");
  ASSERT_EQ(model.record.selection.size(), 9u);
  const auto best = std::ranges::max_element(model.record.selection, {}, &SelectionStep::merit);
  EXPECT_EQ(model.record.chosen, best->choice);
  EXPECT_NE(model.options.find("\"semantic-weights\":\"0."), std::string::npos) << model.options;
}

TEST_F(SemanticWeights, ATableOfNoiseGetsLittleWeightWhateverIsTrained) {
  const Dataset data = halves(true);
  for (const std::string method : {"parsnets", "ridge"}) {
    const Model model = train(data, test::options_with(method, method == "ridge" ? "calibrate=false" : ""), pool);
    double first = 0, second = 0;  // squared lengths of the two tables' axes
    const auto& u = model.semantic_preprocess.whitening;
    for (std::size_t i = 0; i < u.size(); ++i) (i % 24 < 12 ? first : second) += u[i] * u[i];
    EXPECT_GT(first, 2 * second);
    EXPECT_FALSE(model.record.selection.empty());
    EXPECT_EQ(model.gamma == 0, method == "ridge");
  }
}

TEST_F(SemanticWeights, AreObeyedWhereGivenAndCheckedAgainstTheTables) {
  const Dataset data = halves(false);
  const Model model = train(data, test::options_with("parsnets", "semantic-weights=1,3"), pool);
  EXPECT_TRUE(model.record.selection.empty());
  EXPECT_NE(model.options.find("\"semantic-weights\":\"1,3\""), std::string::npos);
  const TrainOptions options = test::options_with("parsnets", "semantic-weights=1,3,1");
  EXPECT_THROW(train(data, options, pool), Error);
  EXPECT_THROW(train(with_table(0), options, pool), Error);
  EXPECT_THROW(train(data, test::options_with("dap"), pool), Error);
}

TEST_F(SemanticWeights, TheAutomaticSearchWeighsTables) {
  const Model model = train(halves(true), test::options_with("parsnets", "search=auto;folds=1;time-budget=0"), pool);
  const auto weighs = [](const SelectionStep& step) { return step.choice.starts_with("tables of semantics: "); };
  EXPECT_EQ(std::ranges::count_if(model.record.selection, weighs), 9);
  EXPECT_EQ(model.options.find("\"semantic-weights\":\"auto\""), std::string::npos);
}

TEST_F(SemanticWeights, TrainingFromStatisticsWeighsTables) {
  const Dataset data = halves(true);
  const StatisticsOptions kept{FeatureScaling::sqrt_l2, 5, 12};
  Statistics statistics(kept, data.class_names, data.features.cols());
  statistics.add(data.features.view(), data.labels, data.split.trainval, pool);
  const Model model = train_from_statistics(statistics, data, {}, pool);
  EXPECT_EQ(model.record.selection.size(), 9u);
  const auto weights = model.record.chosen.substr(std::string("semantic-weights=").size());
  EXPECT_GE(std::stod(weights), 0.65) << weights;
}

}  // namespace
}  // namespace parsnets
