#include "train/train_statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "parsnets/error.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using TrainStatistics = test::SmallTraining;

const StatisticsOptions kOptions{FeatureScaling::l2, 4, 16};

Statistics statistics_of(const Dataset& data, std::size_t shard, std::size_t shards, ThreadPool& pool,
                         const StatisticsOptions& options = kOptions) {
  std::vector<std::int32_t> rows;
  for (std::size_t i = shard; i < data.split.trainval.size(); i += shards) rows.push_back(data.split.trainval[i]);
  Statistics made(options, data.class_names, data.features.cols());
  made.add(data.features.view(), data.labels, rows, pool);
  return made;
}

double relative_difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(a[i] - b[i], 2);
    size += std::pow(b[i], 2);
  }
  return std::sqrt(difference / size);
}

TEST_F(TrainStatistics, SevenShardsInAnyOrderGiveTheModelOfOnePass) {
  const Model one = train_from_statistics(statistics_of(data, 0, 1, pool), data, {}, pool);
  const Matrix<float> expected = one.scores(data.features.view(), pool);
  for (const bool backwards : {false, true}) {
    Statistics merged;
    for (std::size_t k = 0; k < 7; ++k) {
      Statistics part = statistics_of(data, backwards ? 6 - k : k, 7, pool);
      if (k == 0)
        merged = std::move(part);
      else
        merged.merge(part);
    }
    const Model model = train_from_statistics(merged, data, {}, pool);
    EXPECT_LT(relative_difference(model.networks.values(), one.networks.values()), 1e-5);
    EXPECT_LT(relative_difference(model.scores(data.features.view(), pool).values(), expected.values()), 1e-5);
    EXPECT_NEAR(model.gamma, one.gamma, 1e-4);
    EXPECT_EQ(model.record.validation.folds, one.record.validation.folds);
  }
}

TEST_F(TrainStatistics, GivesTheClosedFormOfTrain) {
  for (const FeatureScaling scaling : {FeatureScaling::l2, FeatureScaling::standardize}) {
    ParsNetsOptions method;
    method.feature_scaling = scaling;
    TrainOptions options{method, {}, {}, {}};
    StatisticsOptions kept = kOptions;
    if (scaling == FeatureScaling::standardize) kept.scaling = FeatureScaling::none;
    const Model model = train_from_statistics(statistics_of(data, 0, 1, pool, kept), data, options, pool);
    method.networks = method.refine_steps = 0;
    options.method = method;
    const Model trained = train(data, options, pool);
    EXPECT_LT(relative_difference(model.scores(data.features.view(), pool).values(),
                                  trained.scores(data.features.view(), pool).values()),
              2e-4);
    EXPECT_EQ(model.classes.seen, trained.classes.seen);
  }
}

TEST_F(TrainStatistics, CalibratesOnGroupsAndRecordsItsSource) {
  const Model model =
      train_from_statistics(statistics_of(data, 0, 1, pool), data, {}, pool, nullptr, nullptr, {{"a.stats", 5, 5}});
  EXPECT_GT(model.record.validation.folds, 1u);
  EXPECT_NE(model.temperature, 1);
  EXPECT_EQ(model.record.data.statistics, (std::vector<StatisticsPart>{{"a.stats", 5, 5}}));
  const Model plain =
      train_from_statistics(statistics_of(data, 0, 1, pool, {FeatureScaling::l2, 1, 16}), data, {}, pool);
  EXPECT_EQ(plain.gamma, 0);
  EXPECT_EQ(plain.temperature, 1);
  ASSERT_FALSE(plain.record.warnings.empty());
  EXPECT_NE(plain.record.warnings.back().find("no calibration"), std::string::npos);
}

TEST_F(TrainStatistics, AFoldHoldsOutAGroupAndTakesItsTestsOutOfTheSums) {
  const Statistics all = statistics_of(data, 0, 1, pool);
  const auto fold = statistics_fold(all, 2, pool);
  ASSERT_TRUE(fold.has_value());
  for (const auto c : fold->fold.held_classes) {
    EXPECT_EQ(Statistics::group_of(data.class_names[static_cast<std::size_t>(c)], 4), 2u);
    EXPECT_EQ(fold->fit.class_weights()[static_cast<std::size_t>(c)], 0);
  }
  double removed = 0;
  for (const auto c : fold->fold.fit_classes) {
    const auto place = static_cast<std::size_t>(c);
    const double taken = all.class_weights()[place] - fold->fit.class_weights()[place];
    EXPECT_LE(taken, 0.2 * all.class_weights()[place] + 1e-9);
    removed += taken;
  }
  EXPECT_EQ(removed, static_cast<double>(fold->fold.seen.size()));
  EXPECT_GT(removed, 0);
}

TEST_F(TrainStatistics, RefusesWhatNeedsSamplesAndWhatDoesNotFit) {
  const Statistics all = statistics_of(data, 0, 1, pool);
  const auto refuse = [&](const Statistics& statistics, const TrainOptions& options, const char* part) {
    const auto error = test::thrown_by([&] { train_from_statistics(statistics, data, options, pool); });
    EXPECT_MENTIONS(error.value().message(flag_option), part);
  };
  for (const char* name : {"--refine-steps", "--networks", "--search", "--false-accept"})
    refuse(all, test::options_with("parsnets", "refine-steps=5;networks=8;search=grid;false-accept=0.1"), name);
  refuse(all, test::options_with("ridge"), "--method");
  refuse(all, test::options_with("parsnets", "feature-scaling=standardize"), "--feature-scaling");
  Statistics unknown(kOptions, {"phoenix"}, data.features.cols());
  const std::vector<std::int32_t> labels(data.samples(), 0), rows{0, 1};
  unknown.add(data.features.view(), labels, rows, pool);
  refuse(unknown, {}, "phoenix");
  Statistics leak = all.copy();
  leak.add(data.features.view(), data.labels, std::span(data.split.test_unseen).first(3), pool);
  refuse(leak, {}, "unseen classes without samples");
}

}  // namespace
}  // namespace parsnets
