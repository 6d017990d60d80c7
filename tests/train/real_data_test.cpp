// The method on real data with its default options: what validation classes say, and that test classes agree.

#include <gtest/gtest.h>

#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "shared_data.hpp"

namespace parsnets {

TEST(RealData, RefinedNetworksBeatThePlainMapOnCub) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  LoadOptions load;
  load.features = "res50";
  const Dataset data = load_dataset(*folder, load, nullptr);
  ThreadPool pool(2);
  TrainOptions plain;
  plain.method = Method::ridge;
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

}  // namespace parsnets
