#include "decoding_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace parsnets::test {

namespace {

constexpr std::size_t kTooMuch = std::size_t{1} << 62, kHalf = std::size_t{1} << 61;

}  // namespace

TEST(DecodingMemory, WhatTheSystemDoesNotGiveIsNotTaken) {
  EXPECT_TRUE(can_allocate(1 << 20));
  EXPECT_FALSE(can_allocate(kTooMuch));
  DecodingMemory memory;
  EXPECT_FALSE(memory.take(kTooMuch));
  EXPECT_TRUE(memory.take(1 << 20)) << "what was refused is not counted";
  memory.give_back(1 << 20);
}

TEST(DecodingMemory, OneThatDoesNotFitBesideAnotherWaits) {
  DecodingMemory memory;
  ASSERT_TRUE(memory.take(1 << 20));
  std::atomic<bool> answered = false, taken = true;
  std::thread other([&] {
    taken = memory.take(kHalf);  // never fits; but that is known only once it is alone
    answered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(answered);
  memory.give_back(1 << 20);
  other.join();
  EXPECT_FALSE(taken);
}

}  // namespace parsnets::test
