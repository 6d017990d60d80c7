#include "parsnets/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace parsnets {

TEST(Threads, EveryItemIsVisitedOnceForAnyNumberOfThreads) {
  for (const unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::size_t count : {0u, 1u, 7u, 1000u}) {
      std::vector<std::atomic<int>> visits(count);
      pool.parallel_for(count, 3, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        EXPECT_EQ(begin, chunk * 3);
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      for (const auto& v : visits) EXPECT_EQ(v, 1);
    }
  }
}

TEST(Threads, ChunksDoNotDependOnTheNumberOfThreads) {
  const auto chunks = [](unsigned threads) {
    ThreadPool pool(threads);
    std::vector<double> sums(ThreadPool::chunk_count(100003, 64));
    pool.parallel_for(100003, 64, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      for (std::size_t i = begin; i < end; ++i) sums[chunk] += 1.0 / static_cast<double>(i + 1);
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  };
  EXPECT_EQ(chunks(1), chunks(2));
  EXPECT_EQ(chunks(1), chunks(7));
}

TEST(Threads, TheExceptionOfTheLowestChunkReachesTheCallerAndThePoolGoesOn) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    try {
      pool.parallel_for(100, 1, [](std::size_t i, std::size_t, std::size_t) {
        if (i % 10 == 3) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "3");
    }
  }
  std::atomic<int> done{0};
  pool.parallel_for(50, 1, [&](std::size_t, std::size_t, std::size_t) { ++done; });
  EXPECT_EQ(done, 50);
}

TEST(Threads, NestedCallsRunInPlace) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.parallel_for(8, 1, [&](std::size_t, std::size_t, std::size_t) {
    pool.parallel_for(8, 1, [&](std::size_t, std::size_t, std::size_t) { ++done; });
  });
  EXPECT_EQ(done, 64);
}

}  // namespace parsnets
