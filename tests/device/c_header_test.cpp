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

TEST(CHeader, NamesTheNetworkOfTheFeaturesByItsHashAlone) {
  ThreadPool pool(1);
  Model model = test::small_model("linear", pool);
  EXPECT_EQ(c_header(device_file(model, Precision::int8, 0, pool), "m").find("sha256"), std::string::npos);
  model.record.data.source = test::small_source();
  model.record.data.source->layer = "*/ int layer; /*";
  model.record.data.source->backbone = "*/ int backbone; /*";
  const std::string text = c_header(device_file(model, Precision::int8, 0, pool), "m");
  EXPECT_NE(text.find("sha256 " + test::small_source().sha256 + ",\n * 96 x 64 tf whole:"), std::string::npos) << text;
  EXPECT_EQ(text.find("layer"), std::string::npos);
  EXPECT_EQ(text.find("int backbone"), std::string::npos);
  const test::TempDir dir;
  write_text_file(dir / "model.h", text);
  write_text_file(dir / "main.c", "#include \"model.h\"\nint main(void) { return m[0] == 0 || m_bytes == 0; }\n");
  const std::string command =
      "cd '" + dir.path().string() + "' && cc -std=c99 -Wall -Wextra -Werror -pedantic main.c -o main && ./main";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(CHeader, RefusesANameThatIsNoIdentifier) {
  for (const char* name : {"", "2fast", "a-b", "a b", "int", "size_t"}) EXPECT_THROW(c_header({}, name), Error) << name;
}

}  // namespace
}  // namespace parsnets
