// What the stages of a fit owe each other: the outputs that descent works on are those of the model, and nothing that
// is kept between fits changes their result.

#include "train/fitter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "class_means.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"
#include "small_training.hpp"
#include "train/train_options.hpp"

namespace parsnets {
namespace {

TEST(Fitter, ClassMeansOfRefinementAreThoseOfTheOutputsThatTheModelGives) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  Fitter fitter(data, data.split.trainval, pool, nullptr);
  const Matrix<float> x = gather_rows(data.features.view(), data.split.trainval);
  const auto labels = labels_of(data, data.split.trainval);
  int seen = 0;
  for (const std::string networks : {"0", "8"})
    for (const std::string steps : {"0", "2"}) {
      const auto options =
          resolve_options(test::small_options("parsnets", "networks=" + networks + ";refine-steps=" + steps), data);
      fitter.fit(options, {}, nullptr, [&](int, Model& model, const DescentOutputs& outputs) {
        const ClassMeans means = test::class_means(model.predict(x.view(), pool).view(), labels);
        EXPECT_EQ(outputs.means.classes, means.classes);
        double worst = 0, size = 0;
        for (std::size_t i = 0; i < means.means.size(); ++i) {
          worst = std::max(worst, std::fabs(outputs.means.means.data()[i] - means.means.data()[i]));
          size = std::max(size, std::fabs(means.means.data()[i]));
        }
        EXPECT_LT(worst, 1e-4 * size);
        ++seen;
        return true;
      });
    }
  EXPECT_EQ(seen, 2 * (1 + 3));
}

TEST(Fitter, RefinementRefusesAMemoryLimitItCannotKeep) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(1);
  Fitter fitter(data, data.split.trainval, pool, nullptr);
  auto options = resolve_options(test::small_options("parsnets", "refine-steps=2"), data);
  options.run.memory_limit = 1000;
  test::expect_error([&] { fitter.fit(options); }, "memory-limit", ErrorCode::usage);
}

TEST(Fitter, WhatWasFittedInBetweenDoesNotChangeAFit) {
  for (const int samples : {960, 64}) {  // 64: fewer samples than features
    const Dataset data = synthesize({.classes = 8, .samples = samples, .dimensions = 60});
    ThreadPool pool(1);
    Fitter fitter(data, data.split.trainval, pool, nullptr);
    for (const auto& method : method_names()) {
      const MethodOptions usual = method_options(method);
      std::string networks;
      if (!std::holds_alternative<BaselineOptions>(usual))
        networks = "networks=2;active=" + std::string(method == "mmg" ? "2" : "1") + ";encoding=4";
      if (std::holds_alternative<PaperOptions>(usual))
        networks += ";fit=ridge";  // the SVR starts from its last solution
      const TrainOptions first = resolve_options(test::options_with(method, networks), data);
      // Remakes the inputs and asks for nothing that looks at them.
      const TrainOptions other = resolve_options(
          test::options_with("reverse-ridge", "feature-scaling=standardize;semantic-scaling=standardize"), data);
      const Model before = fitter.fit(first);
      fitter.fit(other);
      const Model after = fitter.fit(first);
      EXPECT_TRUE(std::ranges::equal(before.networks.values(), after.networks.values())) << method;
    }
  }
}

}  // namespace
}  // namespace parsnets
