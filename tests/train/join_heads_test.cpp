#include "train/join_heads.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "parsnets/error.hpp"
#include "small_training.hpp"
#include "train/fitter.hpp"
#include "train/selection.hpp"

namespace parsnets {
namespace {

struct Fitted {
  Dataset data = test::small_training_set();
  ThreadPool pool{1};
  TrainOptions options;
  Model classes, semantics;

  explicit Fitted(TrainOptions given = test::small_options(Method::parsnets)) {
    given.class_space.targets = Targets::classes;
    options = resolve_options(given, data);
    Fitter fitter(data, data.split.trainval, pool, nullptr);
    classes = fitter.fit(options);
    semantics = fitter.fit_head(options);
  }
};

TEST(JoinHeads, ScoresAreTheMeanOfBothHeads) {
  for (const GateKind gates : {GateKind::always, GateKind::anchor})
    for (const double width : {0.0, 1.2})
      for (const double whitening : {0.0, 0.35}) {
        TrainOptions options = test::small_options(Method::parsnets);
        options.gates.kind = gates;
        options.class_space.prototype_width = width;
        options.preprocessing.semantic_whitening = whitening;
        Fitted f(options);
        const auto x = f.data.features.view();
        const Matrix<float> first = f.classes.scores(x, f.pool), second = f.semantics.scores(x, f.pool);
        const Matrix<float> attributes = f.classes.predict_semantics(x, f.pool);
        constexpr double kWeight = 0.4;
        const Model joined = join_heads(std::move(f.classes), f.semantics, kWeight);
        EXPECT_EQ(joined.outputs(), joined.class_outputs() + joined.semantic_outputs());
        const Matrix<float> scores = joined.scores(x, f.pool);
        for (std::size_t i = 0; i < scores.size(); ++i)
          ASSERT_NEAR(scores.data()[i], (first.data()[i] + kWeight * second.data()[i]) / (1 + kWeight), 2e-6);
        const Matrix<float> of_joined = joined.predict_semantics(x, f.pool);
        for (std::size_t i = 0; i < attributes.size(); ++i)
          ASSERT_NEAR(of_joined.data()[i], attributes.data()[i], 1e-5) << "the attribute head stays";
      }
}

TEST(JoinHeads, AnAddedClassScoresAsOneOfTheBank) {
  Fitted f;
  Model joined = join_heads(std::move(f.classes), f.semantics, 1);
  const auto unseen = static_cast<std::size_t>(f.data.unseen_classes()[0]);
  joined.add_class("again", f.data.semantics.values.row(unseen));
  const Matrix<float> scores = joined.scores(f.data.features.view(), f.pool);
  for (std::size_t r = 0; r < scores.rows(); ++r) ASSERT_NEAR(scores(r, scores.cols() - 1), scores(r, unseen), 1e-6);
}

TEST(JoinHeads, TheHeadHasTheOptionsOfSemanticTargetsAndTheShapeOfTheOtherModel) {
  const Dataset data = test::small_training_set();
  TrainOptions given = test::small_options(Method::parsnets);
  given.class_space.semantic_head = 0.3;
  const TrainOptions o = resolve_options(given, data), head = semantic_head_options(o, data);
  EXPECT_EQ(head.class_space.targets, Targets::semantics);
  EXPECT_EQ(head.fit.lambda, 20);
  EXPECT_EQ(head.refinement.steps, 15);
  EXPECT_EQ(head.refinement.sharpness, 10);
  EXPECT_EQ(head.preprocessing.semantic_whitening, o.preprocessing.semantic_whitening);
  EXPECT_EQ(head.class_space.prototype_width, o.class_space.prototype_width);
  EXPECT_EQ(head.gates.networks, o.gates.networks);
}

TEST(JoinHeads, ModelsOfDifferentShapesAreRefused) {
  Fitted f;
  EXPECT_THROW(join_heads(std::move(f.semantics), f.classes, 1), Error);
  Fitted again;
  EXPECT_THROW(join_heads(std::move(again.classes), again.semantics, 0), Error);
  TrainOptions wider = test::small_options(Method::parsnets);
  wider.gates.networks = 9;
  Fitted other(wider), third;
  EXPECT_THROW(join_heads(std::move(other.classes), third.semantics, 1), Error);
}

TEST(JoinHeads, TrainingJoinsThem) {
  Fitted f;
  TrainOptions options = f.options;
  options.class_space.semantic_head = 0.8;
  Fitter fitter(f.data, f.data.split.trainval, f.pool, nullptr);
  const Model trained = fitter.fit(options), joined = join_heads(std::move(f.classes), f.semantics, 0.8);
  const auto x = f.data.features.view();
  const Matrix<float> a = trained.scores(x, f.pool), b = joined.scores(x, f.pool);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(JoinHeads, SelectionMixesAsTheJoinedModelDoes) {
  Fitted f;
  const auto folds = validation_folds(f.data, 1, 1);
  ASSERT_FALSE(folds.empty());
  Candidates evaluator(f.data, folds, f.pool, nullptr);
  auto candidates = combinations(f.options, parse_grid("semantic-head=0,0.5,2", f.options));
  evaluator.evaluate(candidates);
  for (const Candidate& candidate : candidates) {
    Fitter fitter(f.data, folds[0].fit, f.pool, nullptr);
    const FoldResult direct = evaluate_fold(fitter.fit(candidate.options), f.data, folds[0], f.pool);
    EXPECT_NEAR(candidate.result.zsl, direct.zsl, 0.3) << "ties alone may fall otherwise";
    EXPECT_NEAR(candidate.result.h, direct.h, 0.3);
    EXPECT_NEAR(candidate.gamma, direct.gamma, 1e-3);
  }
  EXPECT_NE(candidates[0].gamma, candidates[2].gamma);
}

TEST(JoinHeads, ASemanticHeadNeedsClassSpace) {
  Fitted f;
  TrainOptions options = test::small_options(Method::parsnets);
  options.class_space.targets = Targets::semantics;
  options.class_space.semantic_head = 1;
  EXPECT_THROW(train(f.data, options, f.pool), Error);
  options.class_space.targets = Targets::classes;
  options.class_space.semantic_head = 1e-9;
  EXPECT_THROW(train(f.data, options, f.pool), Error);
}

}  // namespace
}  // namespace parsnets
