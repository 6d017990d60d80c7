#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "parsnets/metrics.hpp"

namespace parsnets {
namespace {

using Flags = std::vector<std::uint8_t>;

TEST(Reliability, BinsAndErrorAreThoseOfBruteForce) {
  Rng rng(5);
  for (const std::size_t bins : {1, 4, 15}) {
    std::vector<float> confidences{0.0f, 1.0f, 0.25f, 0.5f, 0.75f};  // edges
    Flags correct{1, 0, 1, 0, 1};
    for (int i = 0; i < 500; ++i) {
      confidences.push_back(static_cast<float>(rng.uniform()));
      correct.push_back(rng.uniform() < 0.7);
    }
    const Reliability found = reliability(confidences, correct, bins);
    ASSERT_EQ(found.bins.size(), bins);
    EXPECT_EQ(found.samples, confidences.size());
    double error = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      double count = 0, confidence = 0, right = 0;
      for (std::size_t i = 0; i < confidences.size(); ++i) {
        const double scaled = static_cast<double>(confidences[i]) * static_cast<double>(bins);
        const bool above = scaled > static_cast<double>(b) || (b == 0 && scaled == 0);
        if (!above || scaled > static_cast<double>(b + 1)) continue;
        ++count;
        confidence += confidences[i];
        right += correct[i];
      }
      EXPECT_EQ(static_cast<double>(found.bins[b].samples), count) << b << " of " << bins;
      EXPECT_NEAR(found.bins[b].confidence, 100 * confidence / count, 1e-9);
      EXPECT_NEAR(found.bins[b].accuracy, 100 * right / count, 1e-9);
      error += std::abs(right - confidence);
    }
    EXPECT_NEAR(found.ece, 100 * error / static_cast<double>(confidences.size()), 1e-9);
    EXPECT_GT(found.ece, 1);
  }
}

TEST(Reliability, KnownCases) {
  const Reliability sure = reliability(std::vector<float>{1, 1}, Flags{1, 1});
  EXPECT_EQ(sure.ece, 0);
  EXPECT_EQ(sure.bins.size(), 15u);
  EXPECT_EQ(sure.bins.back().samples, 2u);
  EXPECT_EQ(sure.bins.front().samples, 0u);
  EXPECT_NEAR(reliability(std::vector<float>{0.75f, 0.75f}, Flags{1, 0}).ece, 25, 1e-9);
}

TEST(Reliability, RefusesWhatIsNoConfidence) {
  EXPECT_THROW(reliability({}, {}), Error);
  EXPECT_THROW(reliability(std::vector<float>{0.5f}, Flags{1, 0}), Error);
  EXPECT_THROW(reliability(std::vector<float>{0.5f}, Flags{1}, 0), Error);
  for (const float bad : {-0.1f, 1.1f, std::nanf("")}) EXPECT_THROW(reliability(std::vector{bad}, Flags{1}), Error);
}

}  // namespace
}  // namespace parsnets
