#include "serve/rate_limiter.hpp"

#include <gtest/gtest.h>

namespace {

using namespace parsnets;
using namespace std::chrono_literals;

int allowed(RateLimiter& limiter, const std::string& client, Clock::time_point now, int asked) {
  int count = 0;
  for (int i = 0; i < asked; ++i) count += limiter.allows(client, now);
  return count;
}

}  // namespace

TEST(RateLimiter, GivesEachClientItsRate) {
  RateLimiter limiter(10);
  const auto start = Clock::time_point() + 1h;
  EXPECT_EQ(allowed(limiter, "a", start, 100), 20);
  EXPECT_EQ(allowed(limiter, "b", start, 100), 20);
  EXPECT_EQ(allowed(limiter, "a", start + 1s, 100), 10);
  EXPECT_EQ(allowed(limiter, "a", start + 1h, 100), 20) << "no more than the bucket holds";
}

TEST(RateLimiter, RemembersABoundedNumberOfClients) {
  RateLimiter limiter(1, 100);
  const auto start = Clock::time_point() + 1h;
  for (int i = 0; i < 100000; ++i) limiter.allows(std::to_string(i), start);
  EXPECT_LE(limiter.clients(), 101u);
  EXPECT_FALSE(limiter.allows("another", start)) << "those who are not remembered share one bucket";
  EXPECT_TRUE(limiter.allows("another", start + 10s));
  EXPECT_LE(limiter.clients(), 2u) << "full buckets are forgotten";
}

TEST(RateLimiter, WithoutARateAllIsAllowed) {
  RateLimiter limiter(0);
  EXPECT_EQ(allowed(limiter, "a", {}, 10000), 10000);
}
