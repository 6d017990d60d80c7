#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "base/rows.hpp"
#include "model/copy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

using Trained = test::TrainedModel;

/// The rows of each unseen class in the order of a draw.
std::vector<std::vector<std::int32_t>> drawn(const Dataset& data, std::uint64_t seed, std::uint64_t draw) {
  Rng rng(seed, draw);
  std::vector<std::vector<std::int32_t>> members;
  for (const auto c : data.unseen_classes()) {
    members.emplace_back();
    for (const auto r : data.split.test_unseen)
      if (data.labels[static_cast<std::size_t>(r)] == c) members.back().push_back(r);
    rng.shuffle(members.back());
  }
  return members;
}

}  // namespace

TEST(FewShot, EqualsTeachingByHand) {
  Trained t(Method::parsnets);
  FewShotOptions options{{3}, 1, 5};
  const auto result = evaluate_few_shot(t.model, t.data, options, t.pool);
  EXPECT_EQ(result.descriptions_alone, evaluate(t.model, t.data, t.pool).zsl.top1_per_class);
  Model taught = copy_in_memory(t.model), alone = copy_in_memory(t.model);
  const auto members = drawn(t.data, 5, 0);
  const auto classes = t.data.unseen_classes();
  t.data.split.test_unseen.clear();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto& name = t.data.class_names[static_cast<std::size_t>(classes[c])];
    const Matrix<float> examples = gather_rows(t.data.features.view(), std::span(members[c]).first(3));
    teach(taught, name, examples.view(), t.pool);
    alone.remove_class(name);
    add_class_by_examples(alone, name, examples.view(), t.pool);
    t.data.split.test_unseen.insert(t.data.split.test_unseen.end(), members[c].begin() + 3, members[c].end());
  }
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(result.rows[0].examples, 3);
  EXPECT_NEAR(result.rows[0].taught.mean, evaluate(taught, t.data, t.pool).zsl.top1_per_class, 1e-9);
  EXPECT_NEAR(result.rows[0].examples_alone.mean, evaluate(alone, t.data, t.pool).zsl.top1_per_class, 1e-9);
  EXPECT_TRUE(std::isnan(result.rows[0].taught.sd));
  EXPECT_EQ(evaluate(taught, t.data, t.pool).warnings.size(), 1u) << "a taught model has no zero-shot results";
}

TEST(FewShot, DrawsDependOnTheSeedAloneAndMoreExamplesHelp) {
  const Trained t(Method::parsnets);
  ThreadPool pool(2);
  const auto run = [&](std::uint64_t seed, ThreadPool& threads) {
    return evaluate_few_shot(t.model, t.data, {{1, 10}, 6, seed}, threads);
  };
  const auto one = run(1, pool), again = run(1, pool), other = run(2, pool);
  EXPECT_EQ(one.rows[0].taught.mean, again.rows[0].taught.mean);
  EXPECT_EQ(one.rows[1].examples_alone.sd, again.rows[1].examples_alone.sd);
  EXPECT_NE(one.rows[0].examples_alone.mean, other.rows[0].examples_alone.mean);
  EXPECT_GT(one.rows[1].examples_alone.mean, one.rows[0].examples_alone.mean);
  EXPECT_GT(one.rows[0].taught.mean, one.rows[0].examples_alone.mean) << "descriptions count beside one example";
  EXPECT_TRUE(t.model.classes.taught.samples.empty());
}

TEST(FewShot, RefusesWhatItCannotMeasure) {
  Trained t(Method::parsnets);
  for (const FewShotOptions& bad : {FewShotOptions{{}, 1, 1}, FewShotOptions{{0}, 1, 1}, FewShotOptions{{1}, 0, 1},
                                    FewShotOptions{{1, 100000}, 1, 1}})
    EXPECT_THROW(evaluate_few_shot(t.model, t.data, bad, t.pool), Error);
  const Trained semantics(Method::ridge);
  EXPECT_THROW(evaluate_few_shot(semantics.model, semantics.data, {}, t.pool), Error);
  const auto row = t.data.split.test_unseen.front();
  teach(t.model, t.data.class_names[static_cast<std::size_t>(t.data.labels[static_cast<std::size_t>(row)])],
        gather_rows(t.data.features.view(), std::span(&row, 1)).view(), t.pool);
  EXPECT_THROW(evaluate_few_shot(t.model, t.data, {}, t.pool), Error) << "the example may be a test sample";
}

}  // namespace parsnets
