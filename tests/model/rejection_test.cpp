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

TEST(Rejection, IsEmptyUntilCalibrated) {
  EXPECT_TRUE(Rejection().empty());
  EXPECT_FALSE(some().empty());
}

}  // namespace
}  // namespace parsnets
