#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"
#include "parsnets/open_set.hpp"
#include "parsnets/predictor.hpp"
#include "same_bytes.hpp"
#include "small_training.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

Dataset many_classes(std::uint64_t seed) {
  SynthOptions options;
  options.classes = 60;
  options.attributes = 24;
  options.samples = 3000;
  options.dimensions = 48;
  options.hidden = 64;
  options.attribute_noise = 0.2;
  options.signature = 0.3;
  options.nuisance = 0.3;
  options.seed = seed;
  return synthesize(options);
}

/// Share of rows that the model accepts.
double accepted(const Model& model, MatrixView<const float> x, ThreadPool& pool) {
  const Predictor predictor(model, pool);
  std::vector<RankedClass> best(x.rows());
  std::vector<Evidence> evidence(x.rows());
  predictor.rank(x, Ranking(model), pool, best, evidence);
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.rows(); ++i)
    count +=
        !model.rejection.is_unknown(evidence[i], model.classes.seen[static_cast<std::size_t>(best[i].class_index)]);
  return static_cast<double>(count) / static_cast<double>(x.rows());
}

/// The names of every second unseen class.
std::vector<std::string> half_of_unseen(const Dataset& data) {
  std::vector<std::string> names;
  const auto unseen = data.unseen_classes();
  for (std::size_t i = 0; i < unseen.size(); i += 2)
    names.push_back(data.class_names[static_cast<std::size_t>(unseen[i])]);
  return names;
}

TEST(CalibrateOpenSet, TheStatedShareOfUnknownSamplesIsAcceptedOnOtherClasses) {
  // Over a few data sets, since a dozen unknown classes of one say little.
  ThreadPool pool(2);
  for (const double stated : {0.05, 0.2}) {
    double measured = 0, known = 0;
    constexpr int kSets = 12;
    for (int seed = 1; seed <= kSets; ++seed) {
      const Dataset data = many_classes(static_cast<std::uint64_t>(seed));
      Model model = train(data, TrainOptions{}, pool);
      const auto unknown = half_of_unseen(data);
      model.remove_classes(unknown);
      OpenSetOptions options;
      options.false_accept = stated;
      const RejectionRecord record = calibrate_open_set(model, data, options, pool);
      EXPECT_EQ(record.classes, data.seen_classes().size());
      EXPECT_LE(record.accept_low, 100 * stated);
      EXPECT_GE(record.accept_high, 100 * stated - 0.5);
      EXPECT_GT(record.auroc, record.confidence_auroc);
      std::vector<std::int32_t> rows;
      for (const auto r : data.split.test_unseen)
        if (std::ranges::find(unknown,
                              data.class_names[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(r)])]) !=
            unknown.end())
          rows.push_back(r);
      measured += accepted(model, gather_rows(data.features.view(), rows).view(), pool) / kSets;
      known += accepted(model, gather_rows(data.features.view(), data.split.test_seen).view(), pool) / kSets;
    }
    EXPECT_NEAR(measured, stated, stated / 2) << stated;
    EXPECT_GT(known, 2 * stated) << stated;
  }
}

TEST(CalibrateOpenSet, BanksWithoutUnseenClassesAcceptTheStatedShare) {
  ThreadPool pool(2);
  double measured = 0, known = 0;
  constexpr int kSets = 16;
  for (int seed = 1; seed <= kSets; ++seed) {
    const Dataset data = many_classes(static_cast<std::uint64_t>(seed));
    Model model = train(data, TrainOptions{}, pool);
    std::vector<std::string> unseen;
    for (const auto c : data.unseen_classes()) unseen.push_back(data.class_names[static_cast<std::size_t>(c)]);
    model.remove_classes(unseen);
    const RejectionRecord record = calibrate_open_set(model, data, OpenSetOptions{}, pool);
    EXPECT_EQ(record.rejected_unseen, 0);
    EXPECT_TRUE(model.sets.unseen.empty());
    measured += accepted(model, gather_rows(data.features.view(), data.split.test_unseen).view(), pool) / kSets;
    known += accepted(model, gather_rows(data.features.view(), data.split.test_seen).view(), pool) / kSets;
  }
  EXPECT_NEAR(measured, 0.05, 0.03);
  EXPECT_GT(known, 0.2);
}

TEST(CalibrateOpenSet, KnownSamplesAreAcceptedWhereTheModelSpansAllFeaturesAndItsFoldsDoNot) {
  ThreadPool pool(2);
  SynthOptions options;
  options.classes = 60;
  options.attributes = 24;
  options.samples = 3000;
  options.dimensions = 47;  // as many as class space has with 48 seen classes
  options.hidden = 64;
  options.signature = 0.3;
  options.seed = 3;
  const Dataset data = synthesize(options);
  Model model = train(data, TrainOptions{}, pool);
  ASSERT_EQ(model.class_outputs(), data.features.cols());
  OpenSetOptions open_set;
  open_set.false_accept = 0.2;
  const RejectionRecord record = calibrate_open_set(model, data, open_set, pool);
  const double known = accepted(model, gather_rows(data.features.view(), data.split.test_seen).view(), pool);
  EXPECT_NEAR(100 * (1 - known), record.rejected_seen, 12);
}

TEST(CalibrateOpenSet, WithoutKnownSamplesThereIsAClearError) {
  ThreadPool pool(1);
  const Dataset data = test::small_training_set();
  Model model = train(data, TrainOptions{}, pool);
  std::vector<std::string> seen;
  for (const auto c : data.seen_classes()) seen.push_back(data.class_names[static_cast<std::size_t>(c)]);
  model.remove_classes(seen);
  EXPECT_THROW(calibrate_open_set(model, data, OpenSetOptions{}, pool), Error);
}

TEST(CalibrateOpenSet, OtherFeaturesThanThoseOfTrainingAreRefused) {
  ThreadPool pool(1);
  Dataset data = test::small_training_set();
  Model model = train(data, TrainOptions{}, pool);
  for (float& v : data.features.values()) v = 2 * v + 1;
  EXPECT_THROW(calibrate_open_set(model, data, OpenSetOptions{}, pool), Error);
  EXPECT_TRUE(model.rejection.empty());
}

TEST(CalibrateOpenSet, NoiseZeroAndConstantVectorsAreRejected) {
  ThreadPool pool(2);
  const Dataset data = many_classes(5);
  Model model = train(data, TrainOptions{}, pool);
  OpenSetOptions options;
  options.false_accept = 0.2;  // even where much is accepted
  calibrate_open_set(model, data, options, pool);
  float low = data.features(0, 0), high = low;
  for (const float v : data.features.values()) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  Rng rng(1);
  Matrix<float> noise(1000, data.features.cols());
  for (float& v : noise.values()) v = low + (high - low) * static_cast<float>(rng.uniform());
  EXPECT_LE(accepted(model, noise.view(), pool), 0.01);
  Matrix<float> constant(3, data.features.cols(), 0.0f);
  std::ranges::fill(constant.row(1), low);
  std::ranges::fill(constant.row(2), high);
  EXPECT_EQ(accepted(model, constant.view(), pool), 0);
}

TEST(CalibrateOpenSet, ChangesNothingElseAndHasTheSameBytesForAnyNumberOfThreads) {
  ThreadPool one(1), three(3);
  const Dataset data = test::small_training_set();
  Model a = train(data, TrainOptions{}, one), b = train(data, TrainOptions{}, one),
        before = train(data, TrainOptions{}, one);
  OpenSetOptions options;
  options.folds = 4;
  calibrate_open_set(a, data, options, one);
  calibrate_open_set(b, data, options, three);
  const test::TempDir folder;
  save_model(a, folder / "a.safetensors");
  save_model(b, folder / "b.safetensors");
  EXPECT_TRUE(test::same_file_bytes(folder / "a.safetensors", folder / "b.safetensors"));
  const Model loaded = load_model(folder / "a.safetensors");
  EXPECT_EQ(loaded.rejection, a.rejection);
  EXPECT_EQ(loaded.sets, a.sets);
  EXPECT_EQ(loaded.record.rejection, a.record.rejection);
  EXPECT_FALSE(a.sets.unseen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(a.sets.seen_classes));
  a.rejection = {};
  a.sets = {};
  a.record.rejection.reset();
  save_model(a, folder / "a.safetensors");
  save_model(before, folder / "before.safetensors");
  EXPECT_TRUE(test::same_file_bytes(folder / "a.safetensors", folder / "before.safetensors"));
}

TEST(CalibrateOpenSet, TrainingDoesTheSame) {
  ThreadPool pool(2);
  const Dataset data = test::small_training_set();
  TrainOptions options;
  Model model = train(data, options, pool);
  OpenSetOptions open_set;
  open_set.false_accept = 0.1;
  calibrate_open_set(model, data, open_set, pool);
  options.calibration.false_accept = 0.1;
  const Model trained = train(data, options, pool);
  EXPECT_EQ(trained.rejection, model.rejection);
  EXPECT_EQ(trained.sets, model.sets);
}

TEST(CalibrateOpenSet, WhatCannotBeCalibratedIsRefusedAndLeavesTheModel) {
  ThreadPool pool(1);
  const Dataset data = test::small_training_set(), other = test::small_training_set(4);
  Model model = train(data, TrainOptions{}, pool);
  OpenSetOptions options;
  EXPECT_THROW(calibrate_open_set(model, other, options, pool), Error);
  for (const double share : {0.0, 1.0, -1.0, std::nan("")}) {
    options.false_accept = share;
    EXPECT_THROW(calibrate_open_set(model, data, options, pool), Error);
  }
  options.false_accept = 0.05;
  options.folds = 1;
  EXPECT_THROW(calibrate_open_set(model, data, options, pool), Error);
  EXPECT_TRUE(model.rejection.empty());
  EXPECT_TRUE(model.sets.empty());
  Model reverse = train(data, test::small_options("reverse-ridge"), pool);
  EXPECT_THROW(calibrate_open_set(reverse, data, OpenSetOptions{}, pool), Error);
}

TEST(CalibrateOpenSet, TrainingRefusesBeforeTheWorkWhatItCannotCalibrate) {
  ThreadPool pool(1);
  Dataset data = test::small_training_set();
  const auto message_of = [&](const TrainOptions& options) {
    try {
      train(data, options, pool);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  TrainOptions options = test::small_options("eszsl");  // compares by dot products
  options.calibration.false_accept = 0.05;
  EXPECT_NE(message_of(options).find("compares them by cosine"), std::string::npos);
  TrainOptions few;
  few.calibration.false_accept = 0.05;
  const auto seen = data.seen_classes();
  std::erase_if(data.split.trainval, [&](std::int32_t r) {
    return std::ranges::find(seen.begin() + 3, seen.end(), data.labels[static_cast<std::size_t>(r)]) != seen.end();
  });
  EXPECT_NE(message_of(few).find("at least 4 seen classes"), std::string::npos);
}

}  // namespace
}  // namespace parsnets
