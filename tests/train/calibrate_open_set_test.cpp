#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"
#include "parsnets/open_set.hpp"
#include "parsnets/predictor.hpp"
#include "same_bytes.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using CalibrateOpenSet = test::SmallTraining;

Dataset many_classes(int seed) {
  return synthesize({.classes = 60,
                     .attributes = 24,
                     .samples = 3000,
                     .dimensions = 48,
                     .attribute_noise = 0.2,
                     .signature = 0.3,
                     .nuisance = 0.3,
                     .hidden = 64,
                     .seed = static_cast<std::uint64_t>(seed)});
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

double accepted(const Model& model, const Dataset& data, const std::vector<std::int32_t>& rows, ThreadPool& pool) {
  return accepted(model, gather_rows(data.features.view(), rows).view(), pool);
}

/// Names of classes, of `every` the first.
std::vector<std::string> names_of(const Dataset& data, const std::vector<std::int32_t>& classes,
                                  std::size_t every = 1) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < classes.size(); i += every)
    names.push_back(data.class_names[static_cast<std::size_t>(classes[i])]);
  return names;
}

TEST_F(CalibrateOpenSet, TheStatedShareOfUnknownSamplesIsAcceptedOnOtherClasses) {
  // Over a few data sets, since a dozen unknown classes of one say little.
  for (const double stated : {0.05, 0.2}) {
    double measured = 0, known = 0;
    constexpr int kSets = 12;
    for (int seed = 1; seed <= kSets; ++seed) {
      data = many_classes(seed);
      Model model = train(data, TrainOptions{}, pool);
      const auto unknown = names_of(data, data.unseen_classes(), 2);
      model.remove_classes(unknown);
      const RejectionRecord record = calibrate_open_set(model, data, {.false_accept = stated}, pool);
      EXPECT_EQ(record.classes, data.seen_classes().size());
      EXPECT_LE(record.accept_low, 100 * stated);
      EXPECT_GE(record.accept_high, 100 * stated - 0.5);
      EXPECT_GT(record.auroc, record.confidence_auroc);
      std::vector<std::int32_t> rows;
      for (const auto r : data.split.test_unseen)
        if (std::ranges::count(unknown, names_of(data, {data.labels[static_cast<std::size_t>(r)]})[0]) > 0)
          rows.push_back(r);
      measured += accepted(model, data, rows, pool) / kSets;
      known += accepted(model, data, data.split.test_seen, pool) / kSets;
    }
    EXPECT_NEAR(measured, stated, stated / 2) << stated;
    EXPECT_GT(known, 2 * stated) << stated;
  }
}

TEST_F(CalibrateOpenSet, BanksWithoutUnseenClassesAcceptTheStatedShare) {
  double measured = 0, known = 0;
  constexpr int kSets = 16;
  for (int seed = 1; seed <= kSets; ++seed) {
    data = many_classes(seed);
    Model model = train(data, TrainOptions{}, pool);
    model.remove_classes(names_of(data, data.unseen_classes()));
    const RejectionRecord record = calibrate_open_set(model, data, {}, pool);
    EXPECT_EQ(record.rejected_unseen, 0);
    EXPECT_TRUE(model.sets.unseen.empty());
    measured += accepted(model, data, data.split.test_unseen, pool) / kSets;
    known += accepted(model, data, data.split.test_seen, pool) / kSets;
  }
  EXPECT_NEAR(measured, 0.05, 0.03);
  EXPECT_GT(known, 0.2);
}

TEST_F(CalibrateOpenSet, KnownSamplesAreAcceptedWhereTheModelSpansAllFeaturesAndItsFoldsDoNot) {
  data = synthesize({.classes = 60,
                     .attributes = 24,
                     .samples = 3000,
                     .dimensions = 47,  // as many as class space has with 48 seen classes
                     .signature = 0.3,
                     .hidden = 64,
                     .seed = 3});
  Model model = train(data, TrainOptions{}, pool);
  ASSERT_EQ(model.outputs(), data.features.cols());
  const RejectionRecord record = calibrate_open_set(model, data, {.false_accept = 0.2}, pool);
  const double known = accepted(model, data, data.split.test_seen, pool);
  EXPECT_NEAR(100 * (1 - known), record.rejected_seen, 12);
}

TEST_F(CalibrateOpenSet, NoiseZeroAndConstantVectorsAreRejected) {
  data = many_classes(5);
  Model model = train(data, TrainOptions{}, pool);
  calibrate_open_set(model, data, {.false_accept = 0.2}, pool);  // even where much is accepted
  const auto [low, high] = std::ranges::minmax(data.features.values());
  Rng rng(1);
  Matrix<float> noise(1000, data.features.cols());
  for (float& v : noise.values()) v = low + (high - low) * static_cast<float>(rng.uniform());
  EXPECT_LE(accepted(model, noise.view(), pool), 0.01);
  Matrix<float> constant(3, data.features.cols(), 0.0f);
  std::ranges::fill(constant.row(1), low);
  std::ranges::fill(constant.row(2), high);
  EXPECT_EQ(accepted(model, constant.view(), pool), 0);
}

TEST_F(CalibrateOpenSet, ChangesNothingElseAndHasTheSameBytesForAnyNumberOfThreads) {
  ThreadPool one(1), three(3);
  Model a = train(data, TrainOptions{}, one), b = train(data, TrainOptions{}, one),
        before = train(data, TrainOptions{}, one);
  calibrate_open_set(a, data, {.folds = 4}, one);
  calibrate_open_set(b, data, {.folds = 4}, three);
  save_model(a, dir / "a");
  save_model(b, dir / "b");
  EXPECT_TRUE(test::same_file_bytes(dir / "a", dir / "b"));
  const Model loaded = load_model(dir / "a");
  EXPECT_EQ(loaded.rejection, a.rejection);
  EXPECT_EQ(loaded.sets, a.sets);
  EXPECT_EQ(loaded.record.rejection, a.record.rejection);
  EXPECT_FALSE(a.sets.unseen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(a.sets.seen_classes));
  a.rejection = {};
  a.sets = {};
  a.record.rejection.reset();
  save_model(a, dir / "a");
  save_model(before, dir / "before");
  EXPECT_TRUE(test::same_file_bytes(dir / "a", dir / "before"));
}

/// Counts events and cancels one; all must come from the thread that made it.
struct Cancels : ProgressObserver {
  explicit Cancels(int event) : at(event) {}
  bool on_progress(const ProgressEvent&) override {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return ++events != at;
  }
  const int at;
  int events = 0;
  const std::thread::id caller = std::this_thread::get_id();
};

TEST_F(CalibrateOpenSet, TwoFoldsAtATimeAreCancelledByTheCallersThread) {
  ThreadPool two(2);
  Model model = train(data, TrainOptions{}, two);
  Cancels never(0);
  calibrate_open_set(model, data, {.folds = 4}, two, &never);
  model.rejection = {};
  for (const int at : {1, 5, never.events / 3}) {
    Cancels cancels(at);
    try {
      calibrate_open_set(model, data, {.folds = 4}, two, &cancels);
      ADD_FAILURE() << "not cancelled at " << at;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::cancelled);
    }
    EXPECT_EQ(cancels.events, at);
    EXPECT_TRUE(model.rejection.empty());
  }
}

TEST_F(CalibrateOpenSet, TrainingDoesTheSame) {
  Model model = train(data, TrainOptions{}, pool);
  calibrate_open_set(model, data, {.false_accept = 0.1}, pool);
  const Model trained = train(data, test::options_with("parsnets", "false-accept=0.1"), pool);
  EXPECT_EQ(trained.rejection, model.rejection);
  EXPECT_EQ(trained.sets, model.sets);
}

TEST_F(CalibrateOpenSet, WhatCannotBeCalibratedIsRefusedAndLeavesTheModel) {
  Model model = train(data, TrainOptions{}, pool);
  EXPECT_THROW(calibrate_open_set(model, test::small_training_set(4), {}, pool), Error);
  for (const double share : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_THROW(calibrate_open_set(model, data, {.false_accept = share}, pool), Error);
  EXPECT_THROW(calibrate_open_set(model, data, {.folds = 1}, pool), Error);
  Model reverse = train(data, test::small_options("reverse-ridge"), pool);
  EXPECT_THROW(calibrate_open_set(reverse, data, {}, pool), Error);
  Dataset other = test::small_training_set();
  for (float& v : other.features.values()) v = 2 * v + 1;
  EXPECT_THROW(calibrate_open_set(model, other, {}, pool), Error) << "other features than those of training";
  EXPECT_TRUE(model.rejection.empty());
  EXPECT_TRUE(model.sets.empty());
  model.remove_classes(names_of(data, data.seen_classes()));
  EXPECT_THROW(calibrate_open_set(model, data, {}, pool), Error) << "no known samples";
}

TEST_F(CalibrateOpenSet, TrainingRefusesBeforeTheWorkWhatItCannotCalibrate) {
  const auto expect_message = [&](const std::string& method, const char* part) {  // eszsl compares by dot products
    const auto error = test::thrown_by([&] { train(data, test::small_options(method, "false-accept=0.05"), pool); });
    EXPECT_MENTIONS(error.value().message(), part);
  };
  expect_message("eszsl", "compares them by cosine");
  const auto seen = data.seen_classes();
  std::erase_if(data.split.trainval, [&](std::int32_t r) {
    return std::ranges::find(seen.begin() + 3, seen.end(), data.labels[static_cast<std::size_t>(r)]) != seen.end();
  });
  expect_message("parsnets", "at least 4 seen classes");
}

}  // namespace
}  // namespace parsnets
