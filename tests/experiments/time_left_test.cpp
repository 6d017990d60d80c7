#include "experiments/time_left.hpp"

#include <gtest/gtest.h>

namespace parsnets::test {

TEST(TimeLeft, NothingIsSaidBeforeTheFirstRun) { EXPECT_FALSE(TimeLeft().of({{"auto", "CUB", 100}})); }

TEST(TimeLeft, TheSameMethodOnTheSameDataIsTheBestGuess) {
  TimeLeft left;
  left.add({"auto", "CUB", 100}, 30);
  left.add({"auto", "CUB", 100}, 50);
  left.add({"auto", "AWA1", 1000}, 7);
  EXPECT_DOUBLE_EQ(*left.of({{"auto", "CUB", 100}, {"auto", "CUB", 100}}), 80);
}

TEST(TimeLeft, OnOtherDataAMethodTakesTimeBySamples) {
  TimeLeft left;
  left.add({"auto", "CUB", 100}, 30);
  EXPECT_DOUBLE_EQ(*left.of({{"auto", "AWA1", 1000}}), 300);
}

TEST(TimeLeft, AMethodThatHasNotRunCountsByItsRoughShare) {
  TimeLeft left;
  left.add({"default", "CUB", 100}, 4);
  EXPECT_GT(*left.of({{"paper", "CUB", 100}}), *left.of({{"ridge", "CUB", 100}}));
  EXPECT_DOUBLE_EQ(*left.of({}), 0);
}

}  // namespace parsnets::test
