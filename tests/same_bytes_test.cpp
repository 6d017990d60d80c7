#include "same_bytes.hpp"

#include "base/file.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

TEST(SameBytes, AFailureTellsSizesAndOffsetAndNothingOfTheContents) {
  EXPECT_TRUE(same_bytes("weights", "weights"));
  const auto differs = same_bytes("weights", "weird");
  EXPECT_FALSE(differs);
  EXPECT_STREQ(differs.message(), "7 and 5 bytes, different from offset 3 on");
  EXPECT_STREQ(same_bytes("weight", "weights").message(), "6 and 7 bytes, different from offset 6 on");
}

TEST(SameBytes, FilesAreNamed) {
  TempDir dir;
  write_text_file(dir / "a", "weights");
  write_text_file(dir / "b", "weird");
  EXPECT_TRUE(same_file_bytes(dir / "a", dir / "a"));
  EXPECT_NE(std::string(same_file_bytes(dir / "a", dir / "b").message()).find("offset 3 on in "), std::string::npos);
  EXPECT_FALSE(same_file_bytes(dir / "a", dir / "missing"));
}

}  // namespace parsnets::test
