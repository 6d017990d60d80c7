#include "parsnets/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/row_blocks.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"
#include "parsnets/predictor.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using Trained = test::TrainedModel;

TEST(Model, AddingAClassChangesNoOtherScoreAndOneThatComesBackIsRecognisedAsBefore) {
  for (const std::string method : {"scln", "parsnets"}) {  // without and with shared network, whitening, prototypes
    Trained t(method);
    const Matrix<float> before = t.model.scores(t.data.features.view(), t.pool);
    std::vector<float> unicorn(t.model.attributes(), 40.0f);
    unicorn[0] = 90;
    t.model.add_class("unicorn", unicorn);
    const Matrix<float> after = t.model.scores(t.data.features.view(), t.pool);
    ASSERT_EQ(after.cols(), before.cols() + 1);
    for (std::size_t r = 0; r < before.rows(); ++r)
      for (std::size_t c = 0; c < before.cols(); ++c) ASSERT_NEAR(after(r, c), before(r, c), 1e-6);
    t.model.remove_class("unicorn");
    EXPECT_EQ(t.model.classes.names, t.data.class_names);
    const std::size_t unseen = static_cast<std::size_t>(t.data.unseen_classes()[0]);
    t.model.remove_class(t.data.class_names[unseen]);
    t.model.add_class(t.data.class_names[unseen], t.data.semantics.values.row(unseen));
    const Matrix<float> again = t.model.scores(t.data.features.view(), t.pool);
    for (std::size_t r = 0; r < before.rows(); ++r) ASSERT_NEAR(again(r, before.cols() - 1), before(r, unseen), 1e-6);
  }
}

TEST(Model, ClassesPreparedBeforeGiveTheSameScoresAndExplanations) {
  for (const std::string method : {"scln", "parsnets", "eszsl", "reverse-ridge"}) {
    Trained t(method);
    const PreparedClasses prepared = t.model.prepare_classes(t.pool);
    const Matrix<float> plain = t.model.scores(t.data.features.view(), t.pool),
                        kept = t.model.scores(t.data.features.view(), prepared, t.pool);
    EXPECT_TRUE(std::ranges::equal(plain.values(), kept.values()));
    if (t.model.direction == Direction::forward) {
      const Explanation a = explain(t.model, t.data.features.row(7), t.pool),
                        b = explain(t.model, t.data.features.row(7), prepared, t.pool);
      EXPECT_EQ(a.winner_score, b.winner_score);
      EXPECT_EQ(a.attributes[0].amount, b.attributes[0].amount);
    }
    t.model.remove_class(t.data.class_names[0]);
    EXPECT_THROW(t.model.scores(t.data.features.view(), prepared, t.pool), Error) << "stale";
  }
}

TEST(Model, AddedClassesArePreparedWithoutTheOthersToTheSameBits) {
  for (const std::string method : {"scln", "parsnets", "eszsl", "reverse-ridge"}) {
    Trained t(method);
    const PreparedClasses before = t.model.prepare_classes(t.pool);
    for (std::size_t c = 0; c < 3; ++c)
      t.model.add_class("new " + std::to_string(c), t.data.semantics.values.row(2 * c));
    const PreparedClasses all = t.model.prepare_classes(t.pool), added = t.model.prepare_added_classes(before, t.pool);
    EXPECT_TRUE(std::ranges::equal(all.vectors.values(), added.vectors.values()));
    EXPECT_EQ(all.squares, added.squares);
  }
}

TEST(Model, ManyClassesAreAddedAndRemovedAtOnce) {
  Trained t("ridge");
  const auto before = t.model.classes.names;
  constexpr std::size_t kMany = 100'000;  // a copy of the bank for each would be 400 GB
  const auto names = test::add_new_classes(t.model, kMany);
  ASSERT_EQ(t.model.classes.names.size(), before.size() + kMany);
  EXPECT_EQ(t.model.classes.names.back(), names.back());
  EXPECT_EQ(t.model.classes.semantics(before.size() + 5, 0), std::sin(155.0f));
  EXPECT_THROW(t.model.remove_classes(std::vector<std::string>{"new 0", "new 0"}), Error);
  EXPECT_THROW(t.model.remove_classes(t.model.classes.names), Error) << "none would be left";
  t.model.remove_classes(names);
  EXPECT_EQ(t.model.classes.names, before);
  EXPECT_EQ(t.model.classes.seen.size(), before.size());
}

TEST(Model, ScoresSomeRowsAtATimeAreTheWholeToTheBit) {
  for (const std::string method : {"scln", "parsnets", "reverse-ridge"}) {
    Trained t(method);
    constexpr std::size_t kRows = 600;
    test::add_new_classes(t.model, 40'000);  // so many that a block has 256 rows
    const MatrixView<const float> x(t.data.features.data(), kRows, t.data.features.cols());
    const Predictor predictor(t.model, t.pool);
    const Matrix<float> whole = t.model.scores(x, t.pool);
    std::size_t next = 0, blocks = 0;
    predictor.visit_scores(x, t.pool, [&](std::size_t first, MatrixView<const float> scores) {
      ASSERT_EQ(first, next);
      EXPECT_TRUE(std::ranges::equal(scores.values(), std::span(whole.row(first).data(), scores.size())));
      next += scores.rows();
      ++blocks;
    });
    EXPECT_EQ(next, kRows);
    EXPECT_GT(blocks, 1u);
  }
}

TEST(Model, BadClassesAreRefusedByName) {
  Trained t("scln");
  const std::vector<float> right(t.model.attributes(), 1.0f), wrong(3, 1.0f),
      nan(t.model.attributes(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROW(t.model.add_class(t.data.class_names[0], right), Error);
  EXPECT_THROW(t.model.add_class("", right), Error);
  EXPECT_THROW(t.model.add_class("x", wrong), Error);
  EXPECT_THROW(t.model.add_class("x", nan), Error);
  EXPECT_THROW(t.model.remove_class("x"), Error);
}

TEST(Model, WrongOrNonFiniteInputIsRefused) {
  Trained t("scln");
  EXPECT_THROW(t.model.scores(Matrix<float>(2, 5, 1.0f).view(), t.pool), Error);
  Matrix<float> x(2, t.model.dimensions, 1.0f);
  x(1, 3) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(test::error_of([&] { t.model.scores(x.view(), t.pool); }).parts().field, "sample 1, feature 3");
}

TEST(Model, ConfidencesAreASoftmaxWithGammaAndTemperature) {
  Trained t("scln");
  t.model.gamma = 0.5;
  t.model.temperature = 0.25;
  std::vector<float> scores(t.model.classes.names.size(), 0.1f);
  scores[0] = 0.7f;
  auto expected = std::vector<double>(scores.size());
  double sum = 0;
  for (std::size_t c = 0; c < scores.size(); ++c)
    sum += expected[c] = std::exp((scores[c] - (t.model.classes.seen[c] ? 0.5 : 0.0)) / 0.25);
  Ranking(t.model).to_confidences(scores);
  for (std::size_t c = 0; c < scores.size(); ++c) EXPECT_NEAR(scores[c], expected[c] / sum, 1e-5);
  EXPECT_NEAR(std::accumulate(scores.begin(), scores.end(), 0.0), 1.0, 1e-5);
}

TEST(Model, RemovedClassesTakeTheirCalibrationAlong) {
  Trained trained("ridge");
  Model& model = trained.model;
  model.sets = {{0.1f, 0.2f, 0.3f, 0.4f}, {0, 1, 1, 3}, {0.5f}};
  model.remove_classes(std::vector<std::string>{model.classes.names[1], model.classes.names[2]});
  EXPECT_EQ(model.sets, (PredictionSets{{0.1f, 0.4f}, {0, 1}, {0.5f}}));
  model.add_class("okapi", std::vector<float>(model.attributes(), 0.5f));
  EXPECT_EQ(model.sets, (PredictionSets{{0.1f, 0.4f}, {0, 1}, {0.5f}}));
}

TEST(Copy, WhatACopyLearnsInTheFieldIsItsOwn) {
  test::TrainedModel t("parsnets");
  const Matrix<float> pile = gather_rows(t.data.features.view(), t.data.split.test_unseen);
  const auto name = t.data.class_names[static_cast<std::size_t>(t.data.unseen_classes().front())];
  adapt(t.model, pile.view(), {}, t.pool);
  teach(t.model, name, {pile.data(), 2, pile.cols()}, t.pool);
  const Matrix<float> before = t.model.scores(pile.view(), t.pool);
  Model copy = shared_copy(t.model);
  const Matrix<float> same = copy.scores(pile.view(), t.pool);
  EXPECT_TRUE(std::ranges::equal(same.values(), before.values()));
  teach(copy, name, {pile.row(pile.rows() - 3).data(), 3, pile.cols()}, t.pool);
  adapt(copy, {pile.data(), pile.rows() / 2, pile.cols()}, {}, t.pool);
  const Matrix<float> own = copy.scores(pile.view(), t.pool), after = t.model.scores(pile.view(), t.pool);
  EXPECT_FALSE(std::ranges::equal(own.values(), before.values()));
  EXPECT_TRUE(std::ranges::equal(after.values(), before.values()));
}

}  // namespace
}  // namespace parsnets
