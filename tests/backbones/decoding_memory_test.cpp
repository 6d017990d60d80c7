#include "decoding_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace parsnets::test {

constexpr std::size_t kTooMuch = std::size_t{1} << 62, kHalf = std::size_t{1} << 61;

TEST(DecodingMemory, WhatTheSystemDoesNotGiveIsNotTaken) {
  EXPECT_TRUE(can_allocate(1 << 20));
  EXPECT_FALSE(can_allocate(kTooMuch));
  DecodingMemory memory;
  EXPECT_FALSE(memory.take(kTooMuch));
  EXPECT_TRUE(memory.take(1 << 20)) << "what was refused is not counted";
  memory.give_back(1 << 20);
}

TEST(DecodingMemory, OneThatDoesNotFitBesideAnotherWaits) {
  // An answer that does not wait would be given before the memory is back in some of these rounds.
  for (int round = 0; round < 100; ++round) {
    DecodingMemory memory;
    ASSERT_TRUE(memory.take(1 << 20));
    std::atomic<bool> asks = false, is_back = false, answered_before = false, taken = true;
    std::thread other([&] {
      asks = true;
      taken = memory.take(kHalf);  // never fits; but that is known only once it is alone
      answered_before = !is_back;
    });
    while (!asks) std::this_thread::yield();
    is_back = true;
    memory.give_back(1 << 20);
    other.join();
    EXPECT_FALSE(answered_before);
    EXPECT_FALSE(taken);
  }
}

}  // namespace parsnets::test
