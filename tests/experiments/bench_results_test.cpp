#include "experiments/bench_results.hpp"

#include <gtest/gtest.h>

#include "expect.hpp"
#include "small_training.hpp"

namespace parsnets::test {

namespace {

using Json = nlohmann::ordered_json;

/// Of one run with these bits.
std::optional<Outcomes> outcomes_of_bits(const Json& correct, const Dataset& data) {
  return outcomes_of_runs(Json::array({{{"correct", correct}}}), data);
}

}  // namespace

TEST(BenchUncertainty, BitsGiveBackTheOutcomes) {
  const TrainedModel t("ridge");
  ThreadPool pool(1);
  const auto correct = evaluate(t.model, t.data, pool).details->correct;
  Correctness none = correct;
  for (auto* list : {&none.zsl, &none.unseen, &none.seen}) list->assign(list->size(), 0);
  const Json runs = Json::array({{{"correct", correctness_json(correct)}}, {{"correct", correctness_json(none)}}});
  EXPECT_LE(runs[0]["correct"]["seen"].get<std::string>().size(), (correct.seen.size() + 3) / 4);
  const Correctness both[] = {correct, none};
  const auto expected = outcomes_of(t.data, both);
  const auto found = outcomes_of_runs(runs, t.data);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runs, 2u);
  EXPECT_EQ(found->zsl, expected.zsl);
  EXPECT_EQ(found->unseen, expected.unseen);
  EXPECT_EQ(found->seen, expected.seen);
}

TEST(BenchUncertainty, WithoutSeenTestSamplesThereAreBitsOfZslAlone) {
  Dataset data = small_training_set();
  data.split.test_seen.clear();
  Correctness correct;
  correct.zsl.assign(data.split.test_unseen.size(), 1);
  const Json bits = correctness_json(correct);
  EXPECT_EQ(bits.size(), 1u);
  const auto found = outcomes_of_bits(bits, data);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->zsl, std::vector<std::uint16_t>(correct.zsl.size(), 1));
}

TEST(BenchUncertainty, RunsWithoutBitsHaveNoOutcomesAndBitsThatDoNotFitTheDataAreRefused) {
  const Dataset data = small_training_set();
  EXPECT_FALSE(outcomes_of_runs(Json::array(), data));
  EXPECT_FALSE(outcomes_of_runs(Json::array({{{"seed", 1}}}), data));
  const Json good{{"zsl", "1"}, {"unseen", ""}, {"seen", "8"}};
  EXPECT_NO_THROW(outcomes_of_bits(good, data));
  for (const char* key : {"zsl", "unseen", "seen"})
    for (const Json& bad : {Json("x"), Json("10"), Json(std::string(data.samples() / 4, 'f')), Json(3), Json()}) {
      Json bits = good;
      bits[key] = bad;
      expect_error([&] { outcomes_of_bits(bits, data); }, std::string("correct/") + key);
    }
  expect_error([&] { outcomes_of_bits("1", data); });
}

}  // namespace parsnets::test
