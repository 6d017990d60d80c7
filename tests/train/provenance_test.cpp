#include "train/provenance.hpp"

#include <gtest/gtest.h>

#include "parsnets/error.hpp"
#include "small_training.hpp"

namespace parsnets::test {
namespace {

TEST(Provenance, ARequestHoldsWhatWasAskedAndComesBack) {
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

  TrainOptions again;
  LoadOptions load;
  repeat_request(record, "m", again, load);
  EXPECT_EQ(std::get<PaperOptions>(again.method).lambda, 0.1);
  EXPECT_EQ(again.run.seed, 7u);
  EXPECT_EQ(load.seed, 1u);
  EXPECT_EQ(load.missing, MissingPolicy::zero);
  EXPECT_TRUE(again.run.checkpoint.empty());
  Dataset same;
  same.loaded = load;
  EXPECT_EQ(request_of(again, same), *record.asked);
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

TEST(Provenance, OptionsOfAnotherVersionAreRefused) {
  TrainRecord record;
  TrainOptions options;
  LoadOptions load;
  EXPECT_THROW(repeat_request(record, "m", options, load), Error) << "no request";
  record.asked.emplace().options = {{"wings", "2"}};
  EXPECT_THROW(repeat_request(record, "m", options, load), Error);
  record.asked->options = {{"lambda", "many"}};
  EXPECT_THROW(repeat_request(record, "m", options, load), Error);
}

TEST(Provenance, WhatDiffersIsNamed) {
  const Dataset data = small_training_set();
  TrainRecord record;
  record.data = provenance(data);
  record.asked.emplace();
  check_same_data(record, provenance(data), "here");
  DataProvenance other = provenance(data);
  other.samples = 12;
  other.split.val.second = "0";
  other.name = "renamed";
  const std::string found = error_of([&] { check_same_data(record, other, "here"); }).parts().found;
  EXPECT_NE(found.find("samples 12, split val of"), std::string::npos) << found;
  EXPECT_EQ(found.find("renamed"), std::string::npos);
  Dataset changed = small_training_set();
  for (auto& value : changed.features.values()) value += 1;
  EXPECT_THROW(check_same_data(record, provenance(changed), "here"), Error);
}

}  // namespace
}  // namespace parsnets::test
