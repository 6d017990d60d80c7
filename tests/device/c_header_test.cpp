#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "small_device.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

TEST(CHeader, CompilesAndHoldsTheVeryBytes) {
  ThreadPool pool(1);
  const auto file = device_file(test::small_model("anchor", pool), Precision::int8, 2, pool);
  const test::TempDir dir;
  write_text_file(dir / "model.h", c_header(file, "small_model"));
  write_text_file(dir / "main.c",
                  "#include <stdio.h>\n#include \"model.h\"\n#include \"model.h\"\n"
                  "int main(void) { return small_model_work_bytes < 100 || fwrite(small_model, 1, small_model_bytes, "
                  "stdout) != sizeof small_model; }\n");
  const std::string command =
      "cd '" + dir.path().string() + "' && cc -std=c99 -Wall -Wextra -Werror -pedantic main.c -o main && ./main > out";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string written = read_text_file(dir / "out");
  ASSERT_EQ(written.size(), file.size());
  EXPECT_EQ(std::memcmp(written.data(), file.data(), file.size()), 0);
}

TEST(CHeader, RefusesANameThatIsNoIdentifier) {
  for (const char* name : {"", "2fast", "a-b", "a b", "int", "size_t"}) EXPECT_THROW(c_header({}, name), Error) << name;
}

}  // namespace
}  // namespace parsnets
