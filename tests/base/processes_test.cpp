#include "base/processes.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "expect.hpp"
#include "thread_processes.hpp"

namespace parsnets {

namespace {

TEST(Processes, SharesCoverAllSamplesInOrder) {
  for (const std::size_t count : {0u, 1u, 3u, 10u}) {
    std::vector<Share> shares(4);
    run_as_processes(4, [&](Processes& group) { shares[group.rank()] = group.share(count); });
    std::size_t next = 0;
    for (const Share& share : shares) {
      EXPECT_EQ(share.first, next);
      EXPECT_LE(share.count, count / 4 + 1);
      next += share.count;
    }
    EXPECT_EQ(next, count);
  }
}

TEST(Processes, OneProcessKeepsItsValuesAndSendsNothing) {
  SingleProcess alone;
  std::vector<double> values{1, 2};
  alone.sum(std::span<double>(values));
  std::string text = "own";
  alone.broadcast(text, 0);
  EXPECT_EQ(values, (std::vector<double>{1, 2}));
  EXPECT_EQ(text, "own");
  EXPECT_EQ(alone.gather("all"), std::vector<std::string>{"all"});
  EXPECT_EQ(alone.bytes(), 0u);
}

TEST(Processes, SumsAndTextsReachEveryProcess) {
  run_as_processes(3, [](Processes& group) {
    std::vector<float> values{static_cast<float>(group.rank()), 1};
    group.sum(std::span<float>(values));
    std::string text = "from " + std::to_string(group.rank());
    const auto all = group.gather(text);
    group.broadcast(text, 2);
    EXPECT_EQ(values, (std::vector<float>{3, 3}));
    EXPECT_EQ(text, "from 2");
    EXPECT_EQ(all.size(), group.rank() == 0 ? 3u : 0u);
    EXPECT_EQ(group.bytes(), 8u + 6u + 6u);
  });
}

TEST(Together, AnErrorOfOneProcessIsThrownByAllAndWithoutOneAllGoOn) {
  std::atomic<int> done = 0;
  run_as_processes(3, [&](Processes& group) {
    const auto work = [&] {
      if (group.rank() == 1) throw Error(ErrorCode::usage, "no room");
    };
    test::expect_error([&] { together(group, work); }, "no room", ErrorCode::usage);
    together(group, [&] { ++done; });
  });
  EXPECT_EQ(done, 3);
}

}  // namespace

}  // namespace parsnets
