#include "train/stages.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/synth.hpp"
#include "largest_difference.hpp"
#include "small_training.hpp"
#include "thread_processes.hpp"
#include "train/fitter.hpp"

namespace parsnets {
namespace {

Dataset generated_set() {
  return synthesize({.classes = 12, .attributes = 10, .samples = 900, .dimensions = 40, .hidden = 24});
}

TrainOptions gated_options() { return test::options_with("parsnets", "networks=6;active=2;encoding=8"); }

struct Case {
  const char* name;
  TrainOptions options;
  double tolerance;  ///< of weights; a sample between two gates may change sides by rounding
};

std::vector<Case> cases() {
  std::vector<Case> made;
  made.push_back({"closed form of class space", test::options_with("parsnets", "networks=0;refine-steps=0"), 1e-5});
  made.push_back(
      {"standardize", test::options_with("parsnets", "networks=0;refine-steps=0;feature-scaling=standardize"), 1e-4});
  for (const char* method : {"ridge", "eszsl", "sae"}) made.push_back({method, test::options_with(method), 1e-5});
  made.push_back({"gated and refined", gated_options(), 1e-3});
  return made;
}

TEST(Stages, SamplesInBlocksAndOverProcessesGiveTheModelOfSamplesInMemory) {
  const Dataset data = generated_set();
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    ThreadPool pool(1);
    const TrainOptions options = resolve_options(c.options, data);
    const Model whole = Fitter(data, data.split.trainval, pool, nullptr).fit(options);
    for (const std::size_t processes : {1u, 2u, 4u})
      for (const auto& [kept, keeps_encodings] : {std::pair(false, false), {false, true}, {true, false}})
        run_as_processes(processes, [&, kept = kept, keeps_encodings = keeps_encodings](Processes& group) {
          ThreadPool own_pool(1);
          const SamplePlace place{&group, kept, 100, keeps_encodings};
          const Model model = Fitter(data, data.split.trainval, own_pool, nullptr, place).fit(options);
          EXPECT_LT(largest_difference(whole.networks, model.networks), c.tolerance);
          EXPECT_LT(largest_difference(whole.shared, model.shared), c.tolerance);
          EXPECT_LT(largest_difference(whole.class_vectors(), model.class_vectors()), c.tolerance);
          ASSERT_EQ(model.record.gates.has_value(), whole.record.gates.has_value());
          if (whole.record.gates) {
            EXPECT_NEAR(model.record.gates->maximum, whole.record.gates->maximum, 0.01);
          }
        });
  }
}

TEST(Stages, SumsOfTheWholeWithoutTheMissingSamplesGiveTheSameModel) {
  const Dataset data = generated_set();
  std::vector<std::int32_t> most;  // one class is missing, and a twentieth of the others
  for (const auto r : data.split.trainval)
    if (data.labels[static_cast<std::size_t>(r)] != data.seen_classes()[2] && r % 20 != 0) most.push_back(r);
  ASSERT_LT(most.size(), data.split.trainval.size());
  ASSERT_GT(3 * most.size(), 2 * data.split.trainval.size());  // else the own samples are summed up
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    ThreadPool pool(1);
    const TrainOptions options = resolve_options(c.options, data);
    Stages whole(data, data.split.trainval, pool, nullptr, {.kept = false});
    const Model alone = Fitter(data, most, pool, nullptr).fit(options),
                shared = Fitter(data, most, pool, nullptr, {}, &whole).fit(options);
    EXPECT_EQ(shared.classes.seen, alone.classes.seen);
    EXPECT_LT(largest_difference(shared.networks, alone.networks), c.tolerance);
    EXPECT_LT(largest_difference(shared.shared, alone.shared), c.tolerance);
    EXPECT_LT(largest_difference(shared.class_vectors(), alone.class_vectors()), c.tolerance);
    Matrix<float> mean(1, alone.dimensions), other(1, alone.dimensions);
    std::ranges::copy(alone.feature_preprocess.mean, mean.data());
    std::ranges::copy(shared.feature_preprocess.mean, other.data());
    EXPECT_LT(largest_difference(mean, other), 1e-6);
  }
}

TEST(Stages, StreamedFitsHaveTheSameBitsForOneAndTwoThreads) {
  const Dataset data = generated_set();
  const TrainOptions options = resolve_options(gated_options(), data);
  const auto fit = [&](unsigned threads) {
    ThreadPool pool(threads);
    return Fitter(data, data.split.trainval, pool, nullptr, {nullptr, false, 100, false}).fit(options);
  };
  const Model one = fit(1), two = fit(2);
  EXPECT_TRUE(std::ranges::equal(one.networks.values(), two.networks.values()));
  EXPECT_TRUE(std::ranges::equal(one.shared.values(), two.shared.values()));
}

}  // namespace
}  // namespace parsnets
