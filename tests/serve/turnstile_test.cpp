#include "serve/turnstile.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace parsnets;
using namespace std::chrono_literals;

}  // namespace

TEST(Turnstile, LetsNoMoreInThanThereArePlaces) {
  Turnstile turnstile(3);
  std::atomic<int> inside{0}, most{0}, served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto turn = turnstile.enter(Clock::now() + 1h);
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --inside;
        ++served;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(served, 2400);
}

TEST(Turnstile, WhoseTurnDoesNotComeInTimeIsToldSo) {
  Turnstile turnstile(1);
  {
    const auto turn = turnstile.enter(Clock::now() + 1h);
    EXPECT_THROW(turnstile.enter(Clock::now() + 1ms), HttpError);
  }
  turnstile.enter(Clock::now() + 1h);  // the place is free again, and was given to nobody
}
