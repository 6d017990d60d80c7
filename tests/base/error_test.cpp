#include "parsnets/error.hpp"

#include <gtest/gtest.h>

namespace parsnets {

TEST(Error, ComposesFileFieldExpectationAndAdvice) {
  const Error e(BadInput{"x.mat", "labels", "integers", "2.5", "write whole numbers"});
  EXPECT_STREQ(e.what(), "x.mat: labels: expected integers, found 2.5; write whole numbers");
  EXPECT_EQ(e.code(), ErrorCode::bad_input);
  EXPECT_EQ(e.parts().field, "labels");
}

TEST(Error, AMessageIsOnePlainLineWithoutEmptyParts) {
  EXPECT_STREQ(Error(BadInput{"x.mat", "", "a file", "", ""}).what(), "x.mat: expected a file");
  EXPECT_STREQ(Error(BadInput{"x", "", "a", "b\nc\x1b[31m", ""}).what(), "x: expected a, found b\\x0ac\\x1b[31m");
}

TEST(Error, NamesOptionsForTheInterface) {
  const Error e(BadInput{"x", "", "a", "b\n", "use " + option_name("rank")});
  EXPECT_STREQ(e.what(), "x: expected a, found b\\x0a; use 'rank'");
  EXPECT_EQ(e.message(flag_option), "x: expected a, found b\\x0a; use --rank");
  EXPECT_EQ(e.parts(flag_option).advice, "use --rank");
  EXPECT_EQ(e.parts().advice, "use 'rank'");
  const Error again(ErrorCode::usage, "no: " + e.message(option_name));
  EXPECT_EQ(again.message(flag_option), "no: x: expected a, found b\\x0a; use --rank");
}

}  // namespace parsnets
