#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "parsnets/metrics.hpp"

namespace parsnets {
namespace {

TEST(Interval, HalfWidthIsStudentsQuantile) {
  // The root in x of scipy 1.10's tail probability (its t.ppf is right to 9 digits only), confirmed by mpmath's
  // betainc: python3 -c "from scipy.stats import t; from scipy.optimize import brentq for n in
  // (1,2,3,4,5,9,10,30,99,100,999,11787): print(n, brentq(lambda x: t.sf(x, n) - 0.025, 1, 20, xtol=1e-15))"
  struct Known {
    std::size_t freedom;
    double quantile;
  };
  for (const auto& [freedom, quantile] :
       {Known{1, 12.706204736174705}, Known{2, 4.3026527297494639}, Known{3, 3.1824463052837096},
        Known{4, 2.7764451051977944}, Known{5, 2.5705818356363155}, Known{9, 2.2621571627982055},
        Known{10, 2.2281388519862747}, Known{30, 2.0422724563012383}, Known{99, 1.9842169515864175},
        Known{100, 1.9839715185235523}, Known{999, 1.96234146113345}, Known{11787, 1.9601652665208215}}) {
    std::vector<double> values(freedom + 1, 0.0);
    values[0] = 1;
    const auto i = confidence_interval(values);
    const double n = static_cast<double>(values.size());
    EXPECT_NEAR((i.high - i.low) / 2 / (i.sd / std::sqrt(n)) / quantile, 1, 1e-11) << freedom;
    EXPECT_NEAR((i.high + i.low) / 2, 1 / n, 1e-14);
  }
}

TEST(Interval, AgreesWithScipyOnFiveRuns) {
  // python3 -c "import numpy as np; from scipy import stats as s; v = [61.2, 59.8, 63.1, 60.4, 62.0];
  //   print(np.mean(v), np.std(v, ddof=1), *s.t.interval(0.95, 4, np.mean(v), s.sem(v)))"
  const auto i = confidence_interval(std::vector<double>{61.2, 59.8, 63.1, 60.4, 62.0});
  EXPECT_NEAR(i.mean, 61.3, 1e-10);
  EXPECT_NEAR(i.sd, 1.303840481040531, 1e-10);
  EXPECT_NEAR(i.low, 59.68106821529129, 1e-10);
  EXPECT_NEAR(i.high, 62.918931784708704, 1e-10);
}

TEST(Interval, CoversTheTrueMeanInNineteenOfTwentyDraws) {
  Rng rng(41);
  int covered = 0;
  const int draws = 20000;
  for (int d = 0; d < draws; ++d) {
    std::vector<double> values(4);
    for (auto& v : values) v = 7 + 3 * rng.normal();
    const auto i = confidence_interval(values);
    covered += i.low <= 7 && 7 <= i.high;
  }
  EXPECT_NEAR(static_cast<double>(covered) / draws, 0.95, 0.0065);  // 4.2 standard deviations
}

TEST(Interval, EqualValuesHaveNoWidth) {
  for (const double value : {0.1, 61.7, -3.3}) {
    const auto i = confidence_interval(std::vector<double>(7, value));
    EXPECT_EQ(i.mean, value);
    EXPECT_EQ(i.sd, 0);
    EXPECT_EQ(i.low, value);
    EXPECT_EQ(i.high, value);
  }
}

TEST(Interval, ALargeOffsetDoesNotHideTheSpread) {
  const auto i = confidence_interval(std::vector<double>{1e9 + 1, 1e9 + 2, 1e9 + 3});
  EXPECT_DOUBLE_EQ(i.mean, 1e9 + 2);
  EXPECT_DOUBLE_EQ(i.sd, 1);
}

TEST(Interval, OneValueHasAMeanButNoInterval) {
  const auto i = confidence_interval(std::vector<double>{5});
  EXPECT_EQ(i.mean, 5);
  EXPECT_TRUE(std::isnan(i.sd) && std::isnan(i.low) && std::isnan(i.high));
}

TEST(Interval, RefusesNoValuesAndValuesThatAreNotFinite) {
  for (const auto& values :
       {std::vector<double>{}, std::vector<double>{1, std::nan("")}, std::vector<double>{1, HUGE_VAL}})
    try {
      confidence_interval(values);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
    }
}

}  // namespace
}  // namespace parsnets
