// What export costs on real data: bytes, operations, working memory and accuracy.

#include <gtest/gtest.h>

#include "parsnets/device.hpp"
#include "parsnets/evaluation.hpp"
#include "shared_data.hpp"

namespace parsnets {

TEST(RealData, ASmallInt8FileKeepsTheAccuracyOfTheCubModel) {
  const auto folder = test::shared_data("CUB");
  if (!folder) GTEST_SKIP() << test::kNoSharedData;
  LoadOptions load;
  load.features = "res50";
  const Dataset data = load_dataset(*folder, load, nullptr);
  ThreadPool pool(2);
  const Model model = train(data, TrainOptions(), pool);
  ExportOptions options;
  options.max_bytes = 2'000'000;
  const Exported exported = export_model(model, &data, options, pool);  // throws above a drop of 0.5 on validation
  EXPECT_LE(exported.file.size(), 2'000'000u);
  EXPECT_EQ(exported.choice.precision, Precision::int8);
  const DeviceModel device(exported.file, "cub");
  EXPECT_LE(device.work_bytes(), 65536u);
  EXPECT_LE(device.multiply_adds(), 3'000'000u) << "1 % of MobileNet-v2";
  const Evaluation before = evaluate(model, data, pool), after = evaluate(device, data, pool);
  EXPECT_GT(after.zsl.top1_per_class, before.zsl.top1_per_class - 0.3);
  EXPECT_GT(after.gzsl.h, before.gzsl.h - 0.3);

  const DeviceModel whole(device_file(model, Precision::float32, 0, pool), "cub as float32");
  const Evaluation same = evaluate(whole, data, pool);
  EXPECT_NEAR(same.zsl.top1_per_class, before.zsl.top1_per_class, 0.1);
  EXPECT_NEAR(same.gzsl.h, before.gzsl.h, 0.1);

  options.max_bytes = 600'000;
  const Exported small = export_model(model, &data, options, pool);
  EXPECT_LE(small.file.size(), 600'000u);
  EXPECT_EQ(small.choice.precision, Precision::int8);
  EXPECT_LE(DeviceModel(small.file, "small cub").multiply_adds(), 450'000u);
  EXPECT_LE(small.before.zsl - small.choice.accuracy.zsl, 0.5);
  EXPECT_LE(small.before.h - small.choice.accuracy.h, 0.5);
}

}  // namespace parsnets
