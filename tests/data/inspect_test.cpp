#include "data/inspect.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "data/synth.hpp"
#include "expect.hpp"

namespace parsnets {

namespace {

Dataset clean() {
  Dataset data = synthesize({.classes = 10, .attributes = 6, .samples = 100, .dimensions = 40, .hidden = 16});
  // relu leaves features that never fire; shift so that none is constant
  for (std::size_t r = 0; r < data.features.rows(); ++r)
    for (auto& v : data.features.row(r)) v += 0.001f * static_cast<float>(r);
  return data;
}

std::size_t count(const Dataset& data, const std::string& id) {
  for (const auto& finding : inspect_dataset(data).findings)
    if (finding.id == id) return finding.count;
  return 0;
}

}  // namespace

TEST(Inspect, ACleanDataSetHasNoFindings) {
  for (const auto& f : inspect_dataset(clean()).findings) ADD_FAILURE() << f.id << ": " << f.text;
}

TEST(Inspect, TestSamplesThatAreTakenOutOfTheFilesListsAreANoteAndOthersALeak) {
  Dataset data = clean();
  auto& split = data.split;
  split.file_train = split.train;
  split.file_val = split.val;
  split.file_train.insert(split.file_train.end(), {split.test_seen[0], split.test_seen[1]});
  split.file_val.insert(split.file_val.end(), {split.test_seen[2], split.test_unseen[0]});
  EXPECT_EQ(count(data, "test-seen-in-train-list"), 2u);
  EXPECT_EQ(count(data, "test-seen-in-val-list"), 1u);
  const auto handled = inspect_dataset(data).findings;
  ASSERT_EQ(handled.size(), 3u);
  for (const auto& f : handled) {
    EXPECT_EQ(f.severity, Severity::note) << f.id;
    EXPECT_TRUE(test::contains(f.text, "ParsNets removes them"));
  }
  split.trainval.push_back(split.test_seen[0]);
  EXPECT_EQ(inspect_dataset(data).findings[0].severity, Severity::leak);
}

TEST(Inspect, FindsClassesOnBothSides) {
  Dataset data = clean();
  data.labels[static_cast<std::size_t>(data.split.test_unseen[0])] = data.seen_classes()[0];
  EXPECT_EQ(count(data, "class-seen-and-unseen"), 1u);
  Dataset mixed = clean();
  mixed.split.val.push_back(mixed.split.train.back());
  mixed.split.train.pop_back();
  EXPECT_EQ(count(mixed, "class-in-train-and-val"), 1u);
}

TEST(Inspect, FindsTestSamplesInTraining) {
  Dataset data = clean();
  data.split.trainval.push_back(data.split.test_seen[0]);
  EXPECT_EQ(count(data, "test-seen-in-trainval"), 1u);
  data.split.trainval.back() = data.split.test_unseen[0];
  EXPECT_EQ(count(data, "test-unseen-in-trainval"), 1u);
}

TEST(Inspect, FindsClassesWithoutSamplesWithoutSemanticsOrNamedTwice) {
  Dataset data = clean();
  data.class_names.push_back("ghost");
  data.class_names.push_back("ghost");
  Matrix<float> values(12, 6, 0.0f);
  std::copy(data.semantics.values.data(), data.semantics.values.data() + 60, values.data());
  values(10, 0) = 1;
  data.semantics.values = std::move(values);
  EXPECT_EQ(count(data, "class-without-samples"), 2u);
  EXPECT_EQ(count(data, "class-named-twice"), 1u);
  EXPECT_EQ(count(data, "class-without-semantics"), 1u);
}

TEST(Inspect, FindsBadFeatureValuesConstantsAndDuplicates) {
  Dataset data = clean();
  data.features(3, 1) = std::numeric_limits<float>::quiet_NaN();
  data.features(4, 1) = std::numeric_limits<float>::infinity();
  for (std::size_t r = 0; r < 100; ++r) data.features(r, 7) = 2.5f;
  const auto a = static_cast<std::size_t>(data.split.trainval[0]),
             b = static_cast<std::size_t>(data.split.test_seen[0]);
  std::copy(data.features.row(a).begin(), data.features.row(a).end(), data.features.row(b).begin());
  EXPECT_EQ(count(data, "nan-features"), 1u + (a == 3 ? 1 : 0));
  EXPECT_EQ(count(data, "infinite-features"), 1u + (a == 4 ? 1 : 0));
  EXPECT_EQ(count(data, "constant-features"), 1u);
  EXPECT_EQ(count(data, "duplicate-samples"), 1u);
  EXPECT_EQ(count(data, "duplicate-across-train-and-test"), 1u);
}

}  // namespace parsnets
