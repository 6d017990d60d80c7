#include "base/together.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "parsnets/error.hpp"
#include "thread_processes.hpp"

namespace parsnets {
namespace {

TEST(Together, AnErrorOfOneProcessIsThrownByAll) {
  std::atomic<int> thrown = 0;
  run_as_processes(3, [&](Processes& group) {
    try {
      together(group, [&] {
        if (group.rank() == 1) throw Error(ErrorCode::usage, "no room");
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      EXPECT_NE(error.message().find("no room"), std::string::npos);
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 3);
}

TEST(Together, WithoutAnErrorAllGoOn) {
  std::atomic<int> done = 0;
  run_as_processes(3, [&](Processes& group) { together(group, [&] { ++done; }); });
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace parsnets
