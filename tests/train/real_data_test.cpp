// The method on real data with its default options: what validation classes say, and that test classes agree.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "data/split.hpp"
#include "eval/open_set.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "shared_data.hpp"
#include "train/train_run.hpp"

namespace parsnets {
namespace {

/// The trainval samples of CUB and their classes alone, split anew: 75 classes are trained on 80 % of their samples, 25
/// are known by their attributes, and the last 50 are unknown.
struct OpenCub {
  Dataset data;
  std::vector<std::string> unknown;

  OpenCub(const Dataset& whole, std::uint64_t seed) {
    const auto classes = distinct(labels_of(whole, whole.split.trainval));
    std::map<std::int32_t, std::int32_t> places;
    for (const auto c : classes) {
      places.emplace(c, static_cast<std::int32_t>(places.size()));
      data.class_names.push_back(whole.class_names[static_cast<std::size_t>(c)]);
    }
    data.name = "CUB, training classes";
    data.features = gather_rows(whole.features.view(), whole.split.trainval);
    for (const auto r : whole.split.trainval)
      data.labels.push_back(places.at(whole.labels[static_cast<std::size_t>(r)]));
    data.semantics.name = whole.semantics.name;
    data.semantics.values = gather_rows(whole.semantics.values.view(), classes);
    Rng rng(seed);
    const auto order = rng.permutation(classes.size());
    ClassSplit split;
    for (std::size_t i = 0; i < 75; ++i) split.unseen_classes.push_back(static_cast<std::int32_t>(order[i]));
    std::ranges::sort(split.unseen_classes);
    for (std::size_t i = 0; i < 50; ++i) unknown.push_back(data.class_names[order[i]]);
    for (std::size_t s = 0; s < data.labels.size(); ++s)
      if (!std::ranges::binary_search(split.unseen_classes, data.labels[s]) && rng.below(5) == 0)
        split.test_seen.push_back(static_cast<std::int32_t>(s));
    data.split = split_from_classes(split, data.labels);
    derive_validation(data.split, data.labels, {}, seed);
  }
};

TEST(RealData, UnknownClassesOfCubAreRejectedAtTheStatedRate) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  LoadOptions load;
  load.features = "res50";
  const Dataset whole = load_dataset(*folder, load, nullptr);
  ThreadPool pool(2);
  // Which classes are unknown matters more than anything else: the figures are means over draws.
  constexpr int kDraws = 6;
  double accepted = 0, gain = 0;
  for (int seed = 1; seed <= kDraws; ++seed) {
    const OpenCub cub(whole, static_cast<std::uint64_t>(seed));
    Model model = train(cub.data, TrainOptions(), pool);
    model.remove_classes(cub.unknown);
    calibrate_open_set(model, cub.data, {.folds = 10}, pool);  // fewer, for the time
    const OpenSetEvaluation result = evaluate_open_set(model, cub.data, OpenSetEvaluationOptions(), pool);
    EXPECT_EQ(result.unknown.classes, 50u);
    EXPECT_EQ(result.known_unseen.classes, 25u);
    accepted += result.unknown.accepted / kDraws;
    gain += (result.by_known_score.auroc - result.by_confidence.auroc) / kDraws;
    for (const NoClassInputs& kind : result.no_class)
      EXPECT_GE(kind.rejected, kind.name == "scaled" ? 70 : 99) << kind.name;
  }
  EXPECT_NEAR(accepted, 5, 2);
  EXPECT_GT(gain, 3);
}

TEST(RealData, RefinedNetworksBeatThePlainMapOnCub) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  LoadOptions load;
  load.features = "res50";
  const Dataset data = load_dataset(*folder, load, nullptr);
  ThreadPool pool(2);
  const TrainOptions plain{BaselineOptions(), {}, {}, {}};
  TrainRun run;
  const Model linear = train(data, plain, pool), refined = train(data, TrainOptions(), pool, nullptr, &run);
  const ValidationRecord& validation = refined.record.validation;
  EXPECT_GT(validation.zsl, 60);
  EXPECT_GT(validation.h, 57);
  EXPECT_GT(validation.zsl, linear.record.validation.zsl + 6);
  const Evaluation before = evaluate(linear, data, pool), after = evaluate(refined, data, pool);
  EXPECT_GT(after.zsl.top1_per_class, before.zsl.top1_per_class + 6) << "test classes agree with validation";
  EXPECT_GT(after.gzsl.h, before.gzsl.h + 8);
  const auto& steps = refined.record.refinement;
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LT(steps[i].objective, steps[i - 1].objective);
}

}  // namespace
}  // namespace parsnets
