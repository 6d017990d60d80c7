#include "eval/protocols.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.hpp"
#include "base/scratch_file.hpp"
#include "copied_model.hpp"
#include "expect.hpp"
#include "model/prediction.hpp"
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
  Trained t("parsnets");
  FewShotOptions options{{3}, 1, 5};
  const auto result = evaluate_few_shot(t.model, t.data, options, t.pool);
  EXPECT_EQ(result.descriptions_alone, evaluate(t.model, t.data, t.pool).zsl.top1_per_class);
  Model taught = test::copied_model(t.model), alone = test::copied_model(t.model);
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
  const Trained t("parsnets");
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
  Trained t("parsnets");
  for (const FewShotOptions& bad : {FewShotOptions{{}, 1, 1}, FewShotOptions{{0}, 1, 1}, FewShotOptions{{1}, 0, 1},
                                    FewShotOptions{{1, 100000}, 1, 1}})
    EXPECT_THROW(evaluate_few_shot(t.model, t.data, bad, t.pool), Error);
  const Trained semantics("ridge");
  EXPECT_THROW(evaluate_few_shot(semantics.model, semantics.data, {}, t.pool), Error);
  const auto row = t.data.split.test_unseen.front();
  teach(t.model, t.data.class_names[static_cast<std::size_t>(t.data.labels[static_cast<std::size_t>(row)])],
        gather_rows(t.data.features.view(), std::span(&row, 1)).view(), t.pool);
  EXPECT_THROW(evaluate_few_shot(t.model, t.data, {}, t.pool), Error) << "the example may be a test sample";
}

namespace {

std::vector<float> vectors_of(const Model& model) {
  const Matrix<float> vectors = model.class_vectors();
  return {vectors.values().begin(), vectors.values().end()};
}

Adaptation adapt_to(Model& model, const Dataset& data, const std::vector<std::int32_t>& rows, ThreadPool& pool) {
  return adapt(model, gather_rows(data.features.view(), rows).view(), {}, pool);
}

}  // namespace

TEST(Transductive, IsTheEvaluationOfACopyThatAdaptedToTheTestSamples) {
  Trained t("parsnets");
  const auto before = vectors_of(t.model);
  auto all = t.data.split.test_unseen;
  all.insert(all.end(), t.data.split.test_seen.begin(), t.data.split.test_seen.end());
  for (const auto& [protocol, rows] : {std::pair{TransductiveProtocol::unseen, t.data.split.test_unseen},
                                       std::pair{TransductiveProtocol::mixed, all}}) {
    const auto result = evaluate_transductive(t.model, t.data, t.pool, protocol);
    Model copy = test::copied_model(t.model);
    const Adaptation adapted = adapt_to(copy, t.data, rows, t.pool);
    const Evaluation after = evaluate(copy, t.data, t.pool);
    EXPECT_EQ(result.protocol, protocol);
    EXPECT_EQ(result.adaptation.samples, rows.size());
    EXPECT_EQ(result.adaptation.likelihood_gain, adapted.likelihood_gain);
    ASSERT_FALSE(adapted.moves.empty());
    ASSERT_EQ(result.adaptation.moves.size(), adapted.moves.size());
    EXPECT_EQ(result.after.zsl.top1_per_class, after.zsl.top1_per_class);
    EXPECT_EQ(result.after.gzsl.h, after.gzsl.h);
    ASSERT_EQ(after.warnings.size(), 1u) << "an adapted model has no inductive results";
    EXPECT_NE(after.warnings[0].find("adapted"), std::string::npos);
    EXPECT_TRUE(result.after.warnings.empty());
    EXPECT_EQ(result.before.zsl.top1_per_class, evaluate(t.model, t.data, t.pool).zsl.top1_per_class);
  }
  EXPECT_EQ(vectors_of(t.model), before) << "the model itself stays as it is";
  EXPECT_FALSE(is_adapted(t.model));
}

TEST(Transductive, TheAdaptationSeesNoLabels) {
  Trained t("parsnets");
  const auto result = evaluate_transductive(t.model, t.data, t.pool, TransductiveProtocol::mixed);
  auto& unseen = t.data.split.test_unseen;
  std::vector<std::int32_t> labels;
  for (const auto r : unseen) labels.push_back(t.data.labels[static_cast<std::size_t>(r)]);
  std::ranges::rotate(labels, labels.begin() + 1);  // classes take turns: all are wrong now
  for (std::size_t i = 0; i < unseen.size(); ++i) t.data.labels[static_cast<std::size_t>(unseen[i])] = labels[i];
  const auto wrong = evaluate_transductive(t.model, t.data, t.pool, TransductiveProtocol::mixed);
  EXPECT_NE(result.after.zsl.top1_per_class, wrong.after.zsl.top1_per_class);
  EXPECT_EQ(result.adaptation.likelihood_gain, wrong.adaptation.likelihood_gain);
  ASSERT_EQ(result.adaptation.moves.size(), wrong.adaptation.moves.size());
  for (std::size_t i = 0; i < wrong.adaptation.moves.size(); ++i)
    EXPECT_EQ(result.adaptation.moves[i].degrees, wrong.adaptation.moves[i].degrees);
}

TEST(Transductive, RefusesAdaptedModelsAndPilesThatTheSplitLacks) {
  Trained t("parsnets");
  Dataset unseen_only = test::small_training_set();
  unseen_only.split.test_seen.clear();
  EXPECT_THROW(evaluate_transductive(t.model, unseen_only, t.pool, TransductiveProtocol::mixed), Error);
  EXPECT_FALSE(evaluate_transductive(t.model, unseen_only, t.pool, TransductiveProtocol::unseen).after.has_gzsl);
  adapt_to(t.model, t.data, t.data.split.test_unseen, t.pool);
  test::expect_error([&] { evaluate_transductive(t.model, t.data, t.pool, TransductiveProtocol::mixed); },
                     "has been adapted");
}

namespace {

/// On disk, and more than are predicted at a time where the limit is as low as can be.
Matrix<float> many_samples(const Dataset& data) {
  const std::size_t rows = 5000;
  Matrix<float> samples = new_matrix(rows, data.features.cols(), {1, 0}, "samples");
  for (std::size_t r = 0; r < rows; ++r) {
    std::ranges::copy(data.features.row(r * 7 % data.samples()), samples.row(r).begin());
    samples(r, 0) += static_cast<float>(r) * 1e-5f;
  }
  return samples;
}

void expect_places(const Model& a, const Model& b, float tolerance) {
  const Matrix<float> x = a.class_vectors(), y = b.class_vectors();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x.data()[i], y.data()[i], tolerance);
}

}  // namespace

TEST(FieldRows, SamplesOnDiskTeachWhatSamplesInMemoryDo) {
  test::TrainedModel t("parsnets");
  const Matrix<float> samples = many_samples(t.data);
  const std::string name = t.model.classes.names.front();
  // Without a limit to the bit; with one that holds a block of samples up to rounding.
  for (const std::uint64_t limit : {0, 1}) {
    Model whole = test::copied_model(t.model), blocks = test::copied_model(t.model);
    const float tolerance = limit == 0 ? 0.0f : 1e-5f;
    const Adaptation a = adapt(whole, samples.view(), {}, t.pool);
    const Adaptation b = adapt_rows(blocks, blocks_of(samples), {}, limit, t.pool);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.convincing, b.convincing);
    EXPECT_NEAR(a.likelihood_gain, b.likelihood_gain, tolerance);
    expect_places(whole, blocks, tolerance);
    teach(whole, name, samples.view(), t.pool);
    teach_rows(blocks, name, blocks_of(samples), limit, t.pool);
    expect_places(whole, blocks, tolerance);
    add_class_by_examples(whole, "new", samples.view(), t.pool);
    add_class_by_rows(blocks, "new", blocks_of(samples), limit, t.pool);
    expect_places(whole, blocks, tolerance);
  }
}

TEST(FieldRows, RefusesWhatTheWholeRefuses) {
  test::TrainedModel t("parsnets");
  Matrix<float> samples = many_samples(t.data);
  EXPECT_THROW(teach_rows(t.model, "nobody", blocks_of(samples), 0, t.pool), Error);
  EXPECT_THROW(adapt_rows(t.model, blocks_of(samples, 0, 0), {}, 0, t.pool), Error);
  samples(3001, 2) = std::numeric_limits<float>::quiet_NaN();
  for (const std::uint64_t limit : {0, 1})
    test::expect_error([&] { adapt_rows(t.model, blocks_of(samples), {}, limit, t.pool); }, "sample 3001, feature 2");
}

}  // namespace parsnets
