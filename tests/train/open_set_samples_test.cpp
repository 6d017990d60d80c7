#include "train/open_set_samples.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "small_training.hpp"

namespace parsnets {
namespace {

using Trained = test::TrainedModel;

OpenSetSamples collected(const Trained& trained, const OpenSetOptions& options = {}) {
  ThreadPool pool(1);
  return collect_open_set(trained.model, trained.data, options, pool, nullptr);
}

/// Training samples of each class.
std::map<std::int32_t, std::size_t> sizes_of(const Dataset& data) {
  std::map<std::int32_t, std::size_t> sizes;
  for (const auto r : data.split.trainval) ++sizes[data.labels[static_cast<std::size_t>(r)]];
  return sizes;
}

struct Role {
  std::set<std::uint32_t> folds;
  std::size_t unknown = 0, unseen = 0, seen = 0;
};

TEST(OpenSetSamples, EveryClassIsUnknownOnceUnseenOnceAndSeenInOtherFolds) {
  const Trained trained("parsnets");
  const OpenSetSamples samples = collected(trained, {.folds = 4});
  EXPECT_EQ(samples.folds, 4u);
  std::map<std::int32_t, Role> classes;
  auto sizes = sizes_of(trained.data);
  for (const HeldOutSample& s : samples.judged) {
    Role& role = classes[s.label];
    if (s.seen) {
      EXPECT_TRUE(s.known);
      ++role.seen;
    } else {
      role.folds.insert(s.fold);
      ++(s.known ? role.unseen : role.unknown);
    }
  }
  EXPECT_EQ(classes.size(), sizes.size());
  for (const auto& [label, role] : classes) {
    EXPECT_EQ(role.folds.size(), 1u);  // in one fold no sample of it was fitted
    EXPECT_EQ(role.unknown, sizes[label]);
    EXPECT_EQ(role.unseen, sizes[label]);
    EXPECT_GT(role.seen, 0u);
    EXPECT_LE(role.seen, sizes[label]);
  }
  std::size_t seen = 0, unseen = 0;
  for (const OwnConfidence& own : samples.own) {
    ++(own.seen ? seen : unseen);
    EXPECT_GE(own.confidence, 0);
    EXPECT_LE(own.confidence, 1);
  }
  EXPECT_EQ(unseen, trained.data.split.trainval.size());
  EXPECT_GT(seen, unseen / 10);  // 3 of 4 folds, a twentieth of the samples each
}

TEST(OpenSetSamples, BothHalvesOfAFoldHaveClassesHoweverManyFoldsAreAskedFor) {
  const Trained trained("parsnets");
  const OpenSetSamples samples = collected(trained, {.folds = 100});
  EXPECT_EQ(samples.folds, trained.data.seen_classes().size() / 2);
  // The number of candidates must not tell known samples from unknown ones.
  std::map<std::uint32_t, std::set<std::int32_t>> unknown, unseen;
  std::map<std::int32_t, std::size_t> seen;
  auto sizes = sizes_of(trained.data);
  for (const HeldOutSample& s : samples.judged) {
    if (!s.known) unknown[s.fold].insert(s.label);
    if (s.known && !s.seen) unseen[s.fold].insert(s.label);
    if (s.seen) ++seen[s.label];
  }
  for (std::uint32_t f = 0; f < samples.folds; ++f) {
    EXPECT_GE(unknown[f].size(), 2u);
    EXPECT_EQ(unknown[f], unseen[f]);  // in the other turn
  }
  for (const auto& [label, count] : seen) EXPECT_LE(count, sizes[label]);  // a sample is left out once
}

TEST(OpenSetSamples, WithoutUnseenClassesInTheBankNoneAreJudged) {
  Trained trained("parsnets");
  std::vector<std::string> unseen;
  for (const auto c : trained.data.unseen_classes())
    unseen.push_back(trained.data.class_names[static_cast<std::size_t>(c)]);
  trained.model.remove_classes(unseen);
  const OpenSetSamples samples = collected(trained);
  std::size_t unknown = 0;
  for (const HeldOutSample& s : samples.judged) {
    EXPECT_EQ(s.known, s.seen);
    unknown += !s.known;
  }
  EXPECT_EQ(unknown, trained.data.split.trainval.size());
  for (const OwnConfidence& own : samples.own) EXPECT_TRUE(own.seen);
}

TEST(OpenSetSamples, SamplesOfClassesThatTheBankLacksAreUnknown) {
  Trained trained("parsnets");
  const std::int32_t label = trained.data.seen_classes()[0];
  trained.model.remove_class(trained.data.class_names[static_cast<std::size_t>(label)]);
  trained.model.add_class("okapi", std::vector<float>(trained.model.attributes(), 0.5f));
  const OpenSetSamples samples = collected(trained, {.folds = 2});
  for (const HeldOutSample& s : samples.judged) EXPECT_FALSE(s.label == label && s.known);
  for (const OwnConfidence& own : samples.own) EXPECT_NE(own.label, label);
}

}  // namespace
}  // namespace parsnets
