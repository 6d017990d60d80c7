#include "base/file.hpp"
#include "capi/small_handles.hpp"
#include "features/statistics.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

using StatisticsHandle = std::unique_ptr<parsnets_statistics, Freer<parsnets_statistics, parsnets_statistics_free>>;

StatisticsHandle sums_of(const SmallArrays& small, std::size_t first, std::size_t count) {
  const parsnets_arrays& arrays = small.arrays;
  parsnets_statistics* made = nullptr;
  EXPECT_OK(parsnets_statistics_create(arrays.class_names, arrays.classes, arrays.dimensions, nullptr, &made));
  EXPECT_OK(parsnets_statistics_add(made, arrays.features + first * arrays.dimensions, arrays.labels + first, nullptr,
                                    count, arrays.dimensions, 1));
  return StatisticsHandle(made);
}

}  // namespace

TEST(CApiStatistics, PartsAddUpSurviveFilesAndTrainAModel) {
  const SmallArrays small;
  const std::size_t samples = small.arrays.samples, half = samples / 2;
  const StatisticsHandle sums = sums_of(small, 0, half), rest = sums_of(small, half, samples - half);
  parsnets_statistics* made = nullptr;
  ASSERT_OK(parsnets_statistics_clone(sums.get(), &made));
  const StatisticsHandle copy(made);
  ASSERT_OK(parsnets_statistics_merge(sums.get(), rest.get()));
  const TempDir dir;
  const std::string file = dir.file("sums.safetensors"), again = dir.file("again.safetensors");
  ASSERT_OK(parsnets_statistics_save(sums.get(), file.c_str()));
  ASSERT_OK(parsnets_statistics_load(file.c_str(), &made));
  const StatisticsHandle found(made);
  ASSERT_OK(parsnets_statistics_save(found.get(), again.c_str()));
  EXPECT_TRUE(same_file_bytes(file, again));
  EXPECT_EQ(load_statistics(file).samples(), samples);

  ASSERT_OK(parsnets_statistics_merge(copy.get(), copy.get()));
  ASSERT_OK(parsnets_statistics_save(copy.get(), again.c_str()));
  EXPECT_EQ(load_statistics(again).samples(), 2 * half) << "with itself";

  parsnets_model* model = nullptr;
  ASSERT_OK(parsnets_train_statistics(found.get(), &small.arrays, handle_with({}).get(), 1, nullptr, nullptr, &model));
  EXPECT_EQ(info_of(ModelHandle(model).get()).classes, small.arrays.classes);
}

TEST(CApiStatistics, WhatDoesNotFitIsRefused) {
  const SmallArrays small;
  const parsnets_arrays& arrays = small.arrays;
  const StatisticsHandle sums = sums_of(small, 0, 10);
  parsnets_statistics* made = nullptr;
  parsnets_statistics_options options = PARSNETS_STATISTICS_OPTIONS_INIT;
  options.feature_scaling = "l2";
  ASSERT_OK(parsnets_statistics_create(arrays.class_names, arrays.classes, arrays.dimensions, &options, &made));
  const StatisticsHandle other(made);
  EXPECT_EQ(parsnets_statistics_merge(sums.get(), other.get()), PARSNETS_BAD_INPUT);
  options.feature_scaling = "standardize";
  EXPECT_TRUE(fails(parsnets_statistics_create(arrays.class_names, arrays.classes, arrays.dimensions, &options, &made),
                    PARSNETS_USAGE, "expected none, l2 or sqrt-l2"));
  EXPECT_TRUE(fails(parsnets_statistics_create(arrays.class_names, arrays.classes, 0, nullptr, &made),
                    PARSNETS_BAD_INPUT, "dimensions"));
  EXPECT_TRUE(
      fails(parsnets_statistics_add(sums.get(), arrays.features, arrays.labels, nullptr, 1, arrays.dimensions + 1, 1),
            PARSNETS_BAD_INPUT, "dimensions"));
  EXPECT_TRUE(fails(parsnets_statistics_merge(sums.get(), nullptr), PARSNETS_USAGE, "other"));
}

}  // namespace parsnets::test
