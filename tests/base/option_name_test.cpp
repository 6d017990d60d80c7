#include "base/option_name.hpp"

#include <gtest/gtest.h>

#include "parsnets/error.hpp"

namespace parsnets {

TEST(OptionName, EveryInterfaceWritesItsOwnName) {
  const std::string message = "use " + option_name("missing", "zero") + " or a lower " + option_name("max-bytes");
  EXPECT_EQ(with_options(message, neutral_option), "use missing = zero or a lower 'max-bytes'");
  EXPECT_EQ(with_options(message, flag_option), "use --missing zero or a lower --max-bytes");
  EXPECT_EQ(with_options(message, option_name), message) << "itself";
}

TEST(OptionName, PartsAreTextsAndMentions) {
  const auto parts = message_parts("a" + option_name("fit", "svr") + option_name("open") + "b");
  std::string all;
  for (const auto& part : parts) all += part.text + '[' + part.option + ':' + part.value + ']';
  EXPECT_EQ(all, "a[:][fit:svr][open:]b[:]");
  EXPECT_TRUE(message_parts("").empty());
}

TEST(OptionName, ControlCharactersThatMentionNothingStayText) {
  for (const std::string text :
       {"\x1e", "a\x1e", "\x1e\x1e", "\x1eNo Option\x1e", "\x1e\x1fvalue\x1e", "\x1f\x1e\x1e\x1e"}) {
    const auto parts = message_parts(text);
    ASSERT_EQ(parts.size(), 1u) << text;
    EXPECT_EQ(parts[0].text, text);
  }
}

}  // namespace parsnets
