#include "data/split.hpp"

#include <gtest/gtest.h>

#include "base/row_blocks.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::vector<std::int32_t> balanced_labels(int classes, int each) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < classes * each; ++i) labels.push_back(i % classes);
  return labels;
}

}  // namespace

TEST(Split, ChecksumIsTheCrcOfTheSortedLittleEndianIndices) {
  // zlib.crc32(np.array([0, 1, 258], '<i4').tobytes())
  EXPECT_EQ(index_checksum({258, 0, 1}), 0x1cb4644du);
  EXPECT_NE(index_checksum({0, 1}), index_checksum({0, 2}));
}

TEST(Split, TellsOneBasedFromZeroBased) {
  EXPECT_EQ(split_from_lists({{1, 2}, {3}, {4}, {}, {}}, 4, "f").trainval, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(split_from_lists({{0, 1}, {2}, {3}, {}, {}}, 4, "f").trainval, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(split_from_lists({{1, 2}, {}, {3}, {}, {}}, 9, "f").test_unseen, (std::vector<std::int32_t>{2}))
      << "1-based by default";
}

TEST(Split, RefusesMixedBasesRepeatsAndIndicesOutOfRange) {
  EXPECT_THROW(split_from_lists({{0, 1}, {2}, {4}, {}, {}}, 4, "f"), Error);
  for (const std::vector<std::int64_t>& trainval : {std::vector<std::int64_t>{1, 1}, {1, 5}, {-1}})
    EXPECT_THROW(split_from_lists({trainval, {}, {3}, {}, {}}, 4, "f"), Error);
}

TEST(Split, ValidationListsLoseTheirTestSamples) {
  Split split = split_from_lists({{1, 2, 3, 4}, {5, 6}, {7, 8}, {1, 2, 5}, {3, 4, 6}}, 8, "f");
  derive_validation(split, {}, {}, 1);
  EXPECT_EQ(split.train, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(split.val, (std::vector<std::int32_t>{2, 3}));
}

TEST(Split, ValidationIsRebuiltFromClassesWhereTheFileHasNone) {
  const auto labels = balanced_labels(10, 6);
  ClassSplit classes{{8, 9}, {}, {0, 1, 2}};
  Split split = split_from_classes(classes, labels);
  derive_validation(split, labels, {}, 3);
  const auto train = distinct_labels(split.train, labels), val = distinct_labels(split.val, labels);
  EXPECT_EQ(val.size(), 2u);
  EXPECT_EQ(train.size(), 6u);
  EXPECT_TRUE(intersection(train, val).empty());
  EXPECT_EQ(split.train.size() + split.val.size(), split.trainval.size());
  Split again = split_from_classes(classes, labels);
  derive_validation(again, labels, {}, 3);
  EXPECT_EQ(split.val, again.val) << "the seed decides";
}

TEST(Split, MadeSplitsAreDisjointSeededAndComplete) {
  const auto labels = balanced_labels(20, 10);
  SplitOptions options{.seed = 5};
  const ClassSplit made = make_class_split(labels, 20, options);
  EXPECT_EQ(made.unseen_classes.size(), 4u);
  EXPECT_EQ(made.val_classes.size(), 3u);
  EXPECT_EQ(made.test_seen.size(), 32u);
  Split split = split_from_classes(made, labels);
  EXPECT_EQ(split.trainval.size() + split.test_seen.size() + split.test_unseen.size(), labels.size());
  const auto seen = distinct_labels(split.trainval, labels);
  EXPECT_TRUE(intersection(made.unseen_classes, seen).empty());
  EXPECT_EQ(intersection(made.val_classes, seen), made.val_classes);
  EXPECT_EQ(make_class_split(labels, 20, options).test_seen, made.test_seen);
  options.seed = 6;
  EXPECT_NE(make_class_split(labels, 20, options).unseen_classes, made.unseen_classes);
}

TEST(Split, ImpossibleSplitsAreRefused) {
  const auto labels = balanced_labels(4, 2);
  EXPECT_THROW(make_class_split(labels, 4, {.unseen = 3}), Error);
  EXPECT_THROW(make_class_split(labels, 4, {.unseen = 1, .validation = 3}), Error);
}

TEST(Split, ASingleSampleOfAClassStaysInTraining) {
  EXPECT_TRUE(make_class_split({0, 1, 2, 3, 4}, 5, {.test_seen = 0.9}).test_seen.empty());
}

}  // namespace parsnets
