#include "train/provenance.hpp"

#include <gtest/gtest.h>

#include "small_training.hpp"

namespace parsnets::test {
namespace {

TEST(Provenance, ARequestHoldsWhatWasAsked) {
  TrainOptions asked = options_with("paper", "lambda=0.1;memory-limit=1GB");
  asked.run.seed = 7;
  asked.run.checkpoint = "/somewhere/state";
  Dataset data;
  data.loaded.emplace();
  data.loaded->semantics = "att,sent";
  data.loaded->split = "/home/me/mine.json";
  data.loaded->missing = MissingPolicy::zero;
  TrainRecord record;
  record.seed = 7;
  record.asked = request_of(asked, data);
  const std::map<std::string, std::string> expected{
      {"method", "paper"},       {"lambda", "0.1"},   {"memory-limit", "1000000000"},
      {"semantics", "att,sent"}, {"missing", "zero"}, {"split", "mine.json"}};
  EXPECT_EQ(record.asked->options, expected);
  EXPECT_EQ(record.asked->load_seed, 1u) << "not that of training";
}

TEST(Provenance, TrainingKeepsTheRequestNotItsOutcome) {
  TrainOptions options = small_options("ridge", "search=grid");
  options.search.grid = "lambda=1,3";
  const TrainedModel trained(options);
  const auto& asked = *trained.model.record.asked;
  EXPECT_FALSE(asked.folder);
  EXPECT_FALSE(asked.options.contains("lambda")) << "chosen, not asked for";
  EXPECT_EQ(asked.options.at("grid"), "lambda=1,3");
  EXPECT_EQ(asked.options.at("search"), "grid");
}

}  // namespace
}  // namespace parsnets::test
