#include "parsnets/rejection.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace parsnets {
namespace {

Rejection some() {
  Rejection rejection;
  rejection.false_accept = 0.05;
  rejection.weights[0] = {1, 2, 3, 4, 5, 6, -6};
  rejection.weights[1] = {6, 5, 4, 3, 2, 1, 10};
  rejection.range[0].fill(-1);
  rejection.range[1].fill(1);
  rejection.thresholds = {3, 16};
  return rejection;
}

TEST(Rejection, TheScoreIsTheWeightedSumOfTheKindOfTheBestClass) {
  const Rejection rejection = some();
  const Evidence evidence{0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  EXPECT_FLOAT_EQ(rejection.known_score(evidence, false),
                  0.1f * 1 + 0.2f * 2 + 0.3f * 3 + 0.4f * 4 + 0.5f * 5 + 0.6f * 6 - 6);
  EXPECT_FLOAT_EQ(rejection.known_score(evidence, true),
                  0.1f * 6 + 0.2f * 5 + 0.3f * 4 + 0.4f * 3 + 0.5f * 2 + 0.6f * 1 + 10);
  EXPECT_FALSE(rejection.is_unknown(evidence, false));  // 3.1 is above 3
  EXPECT_TRUE(rejection.is_unknown(evidence, true));    // 15.6 is below 16
}

TEST(Rejection, ItIsWeakIfItHardlyTellsOrRejectsMostKnownSamples) {
  Rejection rejection = some();
  EXPECT_EQ(weak_rejection(rejection), "");  // nothing is known of it
  rejection.price = {0.5, 0.5, 0.61};
  EXPECT_EQ(weak_rejection(rejection), "");
  rejection.price = {0.4, 0, 0.6};
  EXPECT_EQ(
      weak_rejection(rejection),
      "rejection hardly works for this model: on held-out classes it rejects 40 % of the samples of seen classes, "
      "with AUROC 60.0 (chance: 50)");
  rejection.price = {0.51, 0.3, 0.9};
  EXPECT_NE(weak_rejection(rejection).find("51 % of the samples of seen and 30 % of those of unseen"),
            std::string::npos);
  rejection.price = {0.2, 0.51, 0.9};
  EXPECT_NE(weak_rejection(rejection), "");
}

TEST(Rejection, EvidenceOutOfRangeIsUnknownHoweverHighItsScore) {
  const Rejection rejection = some();
  for (std::size_t i = 0; i < Evidence::kCount; ++i)
    for (const float value : {-1.1f, 1.1f, std::numeric_limits<float>::quiet_NaN()}) {
      Evidence evidence;
      float* fields[] = {&evidence.score,    &evidence.energy,  &evidence.length,
                         &evidence.distance, &evidence.outside, &evidence.fit};
      *fields[i] = value;
      EXPECT_EQ(rejection.known_score(evidence, true), std::numeric_limits<float>::lowest()) << Evidence::kNames[i];
      EXPECT_TRUE(rejection.is_unknown(evidence, true));
    }
}

TEST(Rejection, TheReasonNamesEvidenceOutOfRangeFirst) {
  Rejection rejection = some();
  rejection.typical.emplace();
  EXPECT_EQ(unknown_because(rejection, {.score = -1, .distance = 1.5f}, true),
            "it differs too much from its best class: distance 1.5, known samples have at most 1");
  EXPECT_EQ(unknown_because(rejection, {.length = -2}, false),
            "it has too little of what tells the classes apart: length -2, known samples have at least -1");
  EXPECT_EQ(unknown_because(rejection, {.length = 2}, false),
            "it has far more of what tells the classes apart: length 2, known samples have at most 1");
}

TEST(Rejection, TheReasonIsTheEvidenceThatTakesMostFromTheScore) {
  Rejection rejection = some();
  rejection.typical.emplace();
  (*rejection.typical)[1] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
  // Of a sample whose best class is seen the score weighs 6, fit weighs 1: 6·0.2 is more than 1·0.9.
  const Evidence evidence{0.3f, 0.5f, 0.5f, 0.5f, 0.5f, -0.4f};
  EXPECT_EQ(unknown_because(rejection, evidence, true),
            "it matches its best class too little: score 0.3, typical of known samples is 0.5");
  // Otherwise the score weighs 1, fit 6, and typical values are zero.
  EXPECT_EQ(unknown_because(rejection, evidence, false),
            "it shows the marks of its best class too weakly: fit -0.4, typical of known samples is 0");
}

TEST(Rejection, AReasonIsNotEvidenceThatSpeaksForTheSample) {
  Rejection rejection = some();
  rejection.weights[0] = {-5, 0, 0, 0, -1, 0, 1};  // a high score lowers the sum, and so does a part outside
  rejection.typical.emplace();
  EXPECT_EQ(unknown_because(rejection, {.score = 0.9f, .outside = 0.1f}, false),
            "too much of it is unlike anything the classes have: outside 0.1, typical of known samples is 0");
  const std::string together = "all evidence together is too weak: known score -3.5, accepted from 3";
  EXPECT_EQ(unknown_because(rejection, {.score = 0.9f}, false), together);
  rejection.typical.reset();
  EXPECT_EQ(unknown_because(rejection, {.score = 0.9f}, false), together);
}

TEST(Rejection, IsEmptyUntilCalibrated) {
  EXPECT_TRUE(Rejection().empty());
  EXPECT_FALSE(some().empty());
}

}  // namespace
}  // namespace parsnets
