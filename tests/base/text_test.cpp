#include "base/text.hpp"

#include <gtest/gtest.h>

#include "expect.hpp"

namespace parsnets {

TEST(Text, IsSplitIntoOnePartMoreThanThereAreSeparators) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split_at("a,:b", ",:"), (Parts{"a", "", "b"}));
  EXPECT_EQ(split_at("a,", ","), (Parts{"a", ""}));
  EXPECT_EQ(split_at("", ","), (Parts{""}));
}

TEST(Text, NamesThatATerminalWouldActOnAreRefused) {
  require_printable({"antelope", "grizzly bear", "Löwe, \"x\"", ""}, "f", "class");
  for (const char* name : {"a\x1b[2J", "a\nb", "a\tb", "\x7f",
                           "\xc2\x9b"
                           "31m",
                           "\xe2\x80\xa8", "\xff"}) {
    const BadInput refused = test::error_of([&] { require_printable({"fine", name}, "f", "class"); }).parts();
    EXPECT_EQ(refused.file + refused.field, "fclass");
    EXPECT_EQ(escaped(refused.found), refused.found);
  }
}

TEST(Text, LinesForATerminalKeepTheirEndsAndTabsAlone) {
  EXPECT_EQ(escaped_lines("a\tb\n\x1b[2Jc\xc2\x9b\r\n\n"), "a\tb\n\\x1b[2Jc\\xc2\\x9b\\x0d\n\n");
  EXPECT_EQ(escaped_lines("Löwe"), "Löwe");
  EXPECT_EQ(escaped_lines(""), "");
}

TEST(DidYouMean, NamesTheNearestForSlipsOfEveryKindAndIsSilentWhereNothingIsNear) {
  const std::vector<std::string> names{"train", "eval", "explain", "lambda", "semantic-lambda", "refine-steps"};
  for (const char* word : {"trian", "tran", "traiin", "traim"})
    EXPECT_EQ(did_you_mean(word, names), "; did you mean 'train'?") << word;
  EXPECT_EQ(did_you_mean("lamda", names), "; did you mean 'lambda'?");
  EXPECT_EQ(did_you_mean("refine-step", names), "; did you mean 'refine-steps'?");
  EXPECT_EQ(did_you_mean("semantic-lmabda", names), "; did you mean 'semantic-lambda'?");
  for (const char* word : {"", "x", "nope", "wings", "elephant"})
    EXPECT_EQ(did_you_mean(word, {"train", "eval", "open", "lambda"}), "") << word;
  EXPECT_EQ(did_you_mean("train", {}), "");
}

}  // namespace parsnets
