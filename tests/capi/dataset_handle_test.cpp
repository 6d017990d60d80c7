#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "capi/small_handles.hpp"
#include "paths.hpp"

namespace parsnets::test {

namespace {

const std::string kDemoFolder = std::string(PARSNETS_SOURCE_DIR) + "/data/demo";

parsnets_status load(const std::string& folder, const parsnets_load_options* options, parsnets_dataset*& data) {
  return parsnets_dataset_load(folder.c_str(), options, nullptr, nullptr, &data);
}

DatasetHandle from(const std::string& folder, const parsnets_load_options* options = nullptr) {
  parsnets_dataset* data = nullptr;
  EXPECT_OK(load(folder, options, data));
  return DatasetHandle(data);
}

}  // namespace

TEST(CApiDataset, AFolderLoadsAsInCpp) {
  const Dataset expected = load_dataset(kDemoFolder);
  const auto data = from(kDemoFolder);
  const auto info = info_of(data.get());
  EXPECT_EQ(info.samples, expected.samples());
  EXPECT_EQ(info.seen_classes, expected.seen_classes().size());
  EXPECT_STREQ(info.name, "demo");
  EXPECT_STREQ(info.features_name, "features.npy");
  EXPECT_STREQ(info.semantics_name, "attributes.csv");
  EXPECT_TRUE(std::equal(info.features, info.features + info.samples * info.dimensions, expected.features.data()));
  EXPECT_EQ(std::vector<std::int32_t>(info.labels, info.labels + info.samples), expected.labels);
  EXPECT_TRUE(
      std::equal(info.semantics, info.semantics + info.classes * info.attributes, expected.semantics.values.data()));
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_TRAINVAL), expected.split.trainval);
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_TEST_SEEN), expected.split.test_seen);
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_TEST_UNSEEN), expected.split.test_unseen);
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_TRAIN), expected.split.train);
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_VAL), expected.split.val);
  EXPECT_EQ(info.trainval, expected.split.trainval.size());
  EXPECT_EQ(info.val, expected.split.val.size());
  const char* name = nullptr;
  ASSERT_OK(parsnets_dataset_class_name(data.get(), 4, &name));
  EXPECT_EQ(name, expected.class_names[4]);
  ASSERT_OK(parsnets_dataset_attribute_name(data.get(), 38, &name));
  EXPECT_EQ(name, expected.semantics.attribute_names[38]);
  EXPECT_EQ(parsnets_dataset_class_name(data.get(), 10, &name), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_dataset_attribute_name(data.get(), 39, &name), PARSNETS_USAGE);
  const std::int32_t* samples = nullptr;
  std::size_t count = 0;
  for (const std::int32_t list : {-1, 5})
    EXPECT_EQ(parsnets_dataset_split(data.get(), list, &samples, &count), PARSNETS_USAGE);
}

TEST(CApiDataset, LoadOptionsReachTheLoader) {
  parsnets_load_options options = PARSNETS_LOAD_OPTIONS_INIT;
  EXPECT_EQ(info_of(from(kDemoFolder, &options).get()).samples, 2400u);
  options.features = "absent";
  parsnets_dataset* data = nullptr;
  EXPECT_TRUE(fails(load(kDemoFolder, &options, data), PARSNETS_BAD_INPUT, "absent"));
  options.features = nullptr;
  options.split = "standard";
  EXPECT_TRUE(fails(load(kDemoFolder, &options, data), PARSNETS_BAD_INPUT, "trainvalclasses.txt"));
  options.split = nullptr;
  const std::string table = kDemoFolder + "/attributes.csv", both = "att," + table;
  options.semantics = both.c_str();
  EXPECT_EQ(load(kDemoFolder, &options, data), PARSNETS_USAGE);  // twice
  options.semantics = table.c_str();
  EXPECT_EQ(info_of(from(kDemoFolder, &options).get()).attributes, 39u);
  options.semantics = nullptr;
  options.missing = 3;
  EXPECT_EQ(load(kDemoFolder, &options, data), PARSNETS_USAGE);
  EXPECT_EQ(data, nullptr);
}

TEST(CApiDataset, TheSeedDrawsTheValidationClassesOfAFolderWithoutAny) {
  TempDir dir;
  Dataset plain = small_training_set();
  plain.split.train.clear();
  plain.split.val.clear();
  plain.split.validation_from.clear();
  save_dataset(plain, dir.path(), DataFormat::npy);
  const auto validation = [&](std::uint64_t seed) {
    parsnets_load_options options = PARSNETS_LOAD_OPTIONS_INIT;
    options.seed = seed;
    return list_of(from(dir.path(), &options).get(), PARSNETS_SPLIT_VAL);
  };
  LoadOptions load;
  load.seed = 5;
  EXPECT_EQ(validation(5), load_dataset(dir.path(), load).split.val);
  EXPECT_NE(validation(5), validation(6));
}

TEST(CApiDataset, LoadingCanBeCancelled) {
  parsnets_dataset* data = nullptr;
  const auto stop = [](const parsnets_progress*, void* calls) { return ++*static_cast<int*>(calls); };
  int calls = 0;
  EXPECT_EQ(parsnets_dataset_load(kDemoFolder.c_str(), nullptr, stop, &calls, &data), PARSNETS_CANCELLED);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(data, nullptr);
}

TEST(CApiDataset, ArraysMakeASplitByTheirLabels) {
  SmallArrays small;
  small.arrays.name = "mine";
  const auto data = small.handle();
  const auto info = info_of(data.get());
  EXPECT_STREQ(info.name, "mine");
  EXPECT_EQ(info.seen_classes, small.data.seen_classes().size());
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_TRAINVAL), small.data.split.trainval);
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_TEST_SEEN), small.data.split.test_seen);
  EXPECT_EQ(list_of(data.get(), PARSNETS_SPLIT_TEST_UNSEEN), small.data.split.test_unseen);
  EXPECT_EQ(info.train + info.val, info.trainval);
  EXPECT_GT(info.val, 0u) << "validation classes are drawn";
  const char* name = nullptr;
  ASSERT_OK(parsnets_dataset_attribute_name(data.get(), 2, &name));
  EXPECT_STREQ(name, "attribute 2");
  small.arrays.attribute_names = nullptr;
  ASSERT_OK(parsnets_dataset_attribute_name(small.handle().get(), 2, &name));
  EXPECT_EQ(name, nullptr);
  small.arrays.test = nullptr;
  EXPECT_EQ(info_of(small.handle().get()).trainval, small.arrays.samples) << "all samples train";
}

TEST(CApiDataset, FeaturesAreCopiedUnlessBorrowed) {
  SmallArrays small;
  EXPECT_NE(info_of(small.handle().get()).features, small.arrays.features);
  small.arrays.borrow_features = 1;
  const auto borrowed = small.handle();
  EXPECT_EQ(info_of(borrowed.get()).features, small.arrays.features);
  EXPECT_NE(info_of(borrowed.get()).labels, small.arrays.labels);
}

TEST(CApiDataset, BadArraysAreRefusedByName) {
  const auto refused = [](auto change, const std::string& field, parsnets_status status = PARSNETS_BAD_INPUT) {
    SmallArrays small;
    change(small);
    parsnets_dataset* data = nullptr;
    EXPECT_TRUE(fails(parsnets_dataset_from_arrays(&small.arrays, &data), status, field)) << field;
    EXPECT_EQ(data, nullptr);
  };
  refused([](auto& s) { s.data.features(3, 5) = std::nanf(""); }, "sample 3, feature 5");
  refused([](auto& s) { s.data.features(3, 5) = std::numeric_limits<float>::infinity(); }, "sample 3, feature 5");
  refused([](auto& s) { s.data.semantics.values(2, 1) = std::nanf(""); }, "class 'class003', attribute 'attribute 1'");
  refused([](auto& s) { s.data.labels[9] = 16; }, "labels, sample 9");
  refused([](auto& s) { s.data.labels[9] = -1; }, "labels, sample 9");
  refused([](auto& s) { s.class_names[4] = s.class_names[3]; }, "class_names");
  refused([](auto& s) { s.class_names[4] = ""; }, "class_names, name 4");
  refused([](auto& s) { s.class_names[4] = nullptr; }, "class_names, name 4");
  refused([](auto& s) { s.class_names[4] = "\xff\xfe"; }, "class_names, name 4");
  refused([](auto& s) { s.attribute_names[4] = nullptr; }, "attribute_names, name 4");
  refused([](auto& s) { s.arrays.samples = 0; }, "samples");
  refused([](auto& s) { s.arrays.dimensions = 0; }, "dimensions");
  refused([](auto& s) { s.arrays.classes = std::size_t{1} << 31; }, "classes");
  refused([](auto& s) { s.arrays.samples = s.arrays.dimensions = 0x7fffffff; }, "sizes");
  refused([](auto& s) { s.test.assign(s.test.size(), 1); }, "test");
  refused([](auto& s) { s.arrays.features = nullptr; }, "arrays.features", PARSNETS_USAGE);
  refused([](auto& s) { s.arrays.labels = nullptr; }, "arrays.labels", PARSNETS_USAGE);
  refused([](auto& s) { s.arrays.semantics = nullptr; }, "arrays.semantics", PARSNETS_USAGE);
  refused([](auto& s) { s.arrays.class_names = nullptr; }, "arrays.class_names", PARSNETS_USAGE);
}

TEST(CApiDataset, AMaskNamesTheValidationClasses) {
  SmallArrays small;
  std::vector<std::uint8_t> mask(small.arrays.classes, 0);
  const auto seen = small.data.seen_classes();
  for (const auto c : {seen[1], seen[4]}) mask[static_cast<std::size_t>(c)] = 1;
  small.arrays.validation = mask.data();
  const auto data = small.handle();
  std::set<std::int32_t> found;
  for (const auto sample : list_of(data.get(), PARSNETS_SPLIT_VAL)) found.insert(small.arrays.labels[sample]);
  EXPECT_EQ(found, (std::set<std::int32_t>{seen[1], seen[4]}));

  parsnets_dataset* made = nullptr;
  mask[static_cast<std::size_t>(small.data.unseen_classes()[0])] = 1;
  EXPECT_TRUE(fails(parsnets_dataset_from_arrays(&small.arrays, &made), PARSNETS_BAD_INPUT,
                    small.data.class_names[static_cast<std::size_t>(small.data.unseen_classes()[0])]));
  for (const bool all : {false, true}) {
    mask.assign(mask.size(), 0);
    for (const auto c : seen) mask[static_cast<std::size_t>(c)] = all;
    EXPECT_TRUE(fails(parsnets_dataset_from_arrays(&small.arrays, &made), PARSNETS_BAD_INPUT, "validation"));
  }
}

}  // namespace parsnets::test
