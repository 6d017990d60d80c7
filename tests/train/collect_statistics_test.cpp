#include <gtest/gtest.h>

#include <cmath>

#include "parsnets/error.hpp"
#include "small_training.hpp"
#include "train/train_statistics.hpp"

namespace parsnets {
namespace {

using CollectStatistics = test::SmallTraining;

struct Stops : ProgressObserver {
  bool on_progress(const ProgressEvent& event) override { return event.stage != "statistics"; }
};

TEST_F(CollectStatistics, BlocksOfAStreamGiveTheSumsOfTheTrainingSamples) {
  const std::size_t n = 9000;  // more than one block of 32 MB
  Matrix<float> wide(n, 1100);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t j = 0; j < wide.cols(); ++j)
      wide(r, j) = data.features(r % data.samples(), j % data.features.cols());
  const std::vector<std::int32_t> labels = data.labels;
  data.labels.resize(n);
  data.split = {};
  for (std::size_t r = 0; r < n; ++r) {
    data.labels[r] = labels[r % labels.size()];
    (data.labels[r] == 0 ? data.split.test_unseen : data.split.trainval).push_back(static_cast<std::int32_t>(r));
  }
  data.features = std::move(wide);
  save_dataset(data, dir.path(), DataFormat::npy);
  const StatisticsOptions options{FeatureScaling::l2, 1, 2};
  const Statistics streamed = collect_statistics(dir.path(), {}, options, pool);
  Statistics whole(options, data.class_names, data.features.cols());
  whole.add(data.features.view(), data.labels, data.split.trainval, pool);
  EXPECT_EQ(streamed.class_weights(), whole.class_weights());
  EXPECT_EQ(streamed.class_weights()[0], 0);
  EXPECT_EQ(streamed.kept_rows(), whole.kept_rows());
  double most = 0;
  for (std::size_t i = 0; i < whole.class_sums().size(); ++i)
    most = std::max(most, std::abs(whole.class_sums().data()[i] - streamed.class_sums().data()[i]));
  EXPECT_LT(most, 1e-9);
}

TEST_F(CollectStatistics, CanBeCancelledAndLimited) {
  save_dataset(data, dir.path(), DataFormat::npy);
  Stops stops;
  const auto code_of = [&](ProgressObserver* progress, std::uint64_t limit) {
    return test::code_of([&] { collect_statistics(dir.path(), {}, {}, pool, progress, limit); });
  };
  EXPECT_EQ(code_of(&stops, 0), ErrorCode::cancelled);
  EXPECT_EQ(code_of(nullptr, 1000000), ErrorCode::usage);
}

}  // namespace
}  // namespace parsnets
