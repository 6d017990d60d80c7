#include "data/class_table_file.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "temp_dir.hpp"

namespace parsnets {

TEST(ClassTableFile, MistakesAreNamedByTheirLine) {
  const test::TempDir dir;
  const auto place_of = [&](const std::string& text) {
    write_text_file(dir / "t.csv", text);
    Dataset data;
    try {
      read_class_table(dir / "t.csv", "t", MissingPolicy::refuse, data, nullptr);
    } catch (const Error& error) {
      return error.parts().file.substr(dir.path().string().size() + 1);
    }
    return std::string("no error");
  };
  EXPECT_EQ(place_of("class,a\nfox,1\nowl,x\n"), "t.csv:3");
  EXPECT_EQ(place_of("class,a\nfox,1\nfox,2\n"), "t.csv:3");
  EXPECT_EQ(place_of("class,a\nfox,1\n,2\n"), "t.csv:3");
  EXPECT_EQ(place_of("class,a\n\"red\nfox\",1\nowl,x\n"), "t.csv:4");  // a name over two lines
  EXPECT_EQ(place_of("class,a\nfox,1\nowl,2\n"), "no error");
}

}  // namespace parsnets
