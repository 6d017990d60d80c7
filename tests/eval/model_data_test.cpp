#include "eval/model_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/sample_set.hpp"
#include "expect.hpp"
#include "parsnets/evaluation.hpp"
#include "small_training.hpp"

namespace parsnets::test {

namespace {

/// The same classes, but the first `count` test samples of seen classes change places with training samples.
void exchange(Dataset& data, std::size_t count) {
  auto& test = data.split.test_seen;
  const auto tested = test;
  auto& trainval = data.split.trainval;
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = data.labels[static_cast<std::size_t>(test[i])];
    const auto partner = std::ranges::find_if(trainval, [&](std::int32_t s) {
      return data.labels[static_cast<std::size_t>(s)] == label && !std::ranges::count(tested, s);
    });
    std::swap(test[i], *partner);
  }
}

void expect_refusal(TrainedModel& t, const std::string& part) {
  expect_error([&] { evaluate(t.model, t.data, t.pool); }, part);
}

}  // namespace

TEST(ModelData, ASplitWhoseTestSamplesWereTrainedOnIsRefusedWithTheirNumber) {
  TrainedModel t("ridge");
  exchange(t.data, 7);
  for (const char* part : {"found 7 of ", "allow-trained-samples"}) expect_refusal(t, part);
  EXPECT_EQ(evaluate(t.model, t.data, t.pool, nullptr, true).trained_samples, 7);
}

TEST(ModelData, TheModelsOwnSplitPasses) {
  TrainedModel t("ridge");
  EXPECT_EQ(evaluate(t.model, t.data, t.pool).trained_samples, 0);
  std::ranges::reverse(t.data.split.trainval);
  std::ranges::reverse(t.data.split.test_seen);
  EXPECT_EQ(evaluate(t.model, t.data, t.pool).trained_samples, 0) << "the order of a list does not matter";
}

TEST(ModelData, ModelsWithoutAListOfSamplesAreRefusedByTheChecksum) {
  TrainedModel t("ridge");
  t.model.record.data.trained_samples = t.model.record.data.trained_crc32 = "";
  EXPECT_NO_THROW(evaluate(t.model, t.data, t.pool));
  exchange(t.data, 7);
  expect_refusal(t, t.model.record.data.split.trainval.second);
  EXPECT_EQ(evaluate(t.model, t.data, t.pool, nullptr, true).trained_samples, -1);
}

TEST(ModelData, AnotherDataSetOfTheSameSizesIsNotTheModelsAndAModelWithoutARecordWasTrainedOnNone) {
  TrainedModel t("ridge");
  Dataset other = small_training_set(4);
  other.split = t.data.split;
  other.labels = t.data.labels;
  exchange(other, 7);
  EXPECT_EQ(check_test_data(t.model, other), 0);
  t.model.record = {};
  EXPECT_EQ(check_test_data(t.model, t.data), 0);
}

TEST(ModelData, AttributesUnderAnotherNameMayDifferByOneFactorAndByNothingElse) {
  TrainedModel t("ridge");
  t.data.semantics.name = "other";
  for (float& v : t.data.semantics.values.values()) v /= 100;
  EXPECT_NO_THROW(evaluate(t.model, t.data, t.pool));
  const auto seen = static_cast<std::size_t>(t.data.seen_classes()[0]);
  t.data.semantics.values(seen, 0) += 1;
  expect_refusal(t, "found 'other'");
}

TEST(SampleSet, HexadecimalDigitsGiveBackTheSamples) {
  const std::vector<std::int32_t> samples{0, 1, 5, 8, 14, 31};
  EXPECT_EQ(samples_to_hex(samples), "32140008");
  EXPECT_EQ(samples_from_hex("32140008"), samples);
  EXPECT_TRUE(samples_from_hex("3g").empty());
  EXPECT_EQ(samples_to_hex({}), "");
}

}  // namespace parsnets::test
