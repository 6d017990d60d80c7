#pragma once
// Tests of what needs threads.

#include <gtest/gtest.h>

#include "parsnets/threads.hpp"

namespace parsnets::test {

struct PoolTest : testing::Test {
  ThreadPool pool{2};
};

}  // namespace parsnets::test
