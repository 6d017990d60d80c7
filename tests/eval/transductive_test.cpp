#include <gtest/gtest.h>

#include <algorithm>

#include "base/rows.hpp"
#include "model/copy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

using Trained = test::TrainedModel;

std::vector<float> vectors_of(const Model& model) {
  const Matrix<float> vectors = model.class_vectors();
  return {vectors.values().begin(), vectors.values().end()};
}

Adaptation adapt_to(Model& model, const Dataset& data, const std::vector<std::int32_t>& rows, ThreadPool& pool) {
  return adapt(model, gather_rows(data.features.view(), rows).view(), {}, pool);
}

}  // namespace

TEST(Transductive, IsTheEvaluationOfACopyThatAdaptedToTheTestSamples) {
  Trained t(Method::parsnets);
  const auto before = vectors_of(t.model);
  auto all = t.data.split.test_unseen;
  all.insert(all.end(), t.data.split.test_seen.begin(), t.data.split.test_seen.end());
  for (const auto& [protocol, rows] : {std::pair{TransductiveProtocol::unseen, t.data.split.test_unseen},
                                       std::pair{TransductiveProtocol::mixed, all}}) {
    const auto result = evaluate_transductive(t.model, t.data, t.pool, protocol);
    Model copy = copy_in_memory(t.model);
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
  Trained t(Method::parsnets);
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
  Trained t(Method::parsnets);
  Dataset unseen_only = test::small_training_set();
  unseen_only.split.test_seen.clear();
  EXPECT_THROW(evaluate_transductive(t.model, unseen_only, t.pool, TransductiveProtocol::mixed), Error);
  EXPECT_FALSE(evaluate_transductive(t.model, unseen_only, t.pool, TransductiveProtocol::unseen).after.has_gzsl);
  adapt_to(t.model, t.data, t.data.split.test_unseen, t.pool);
  try {
    evaluate_transductive(t.model, t.data, t.pool, TransductiveProtocol::mixed);
    ADD_FAILURE() << "adapted to the same samples twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("has been adapted"), std::string::npos) << error.what();
  }
}

}  // namespace parsnets
