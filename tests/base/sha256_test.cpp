#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "temp_dir.hpp"

namespace parsnets {

// The examples of FIPS 180-4, and lengths around the place where the length no longer fits the last block.
TEST(Sha256, IsThatOfTheStandard) {
  test::TempDir dir;
  const auto of = [&](const std::string& text) {
    write_text_file(dir / "text", text);
    return sha256_of_file(dir / "text");
  };
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(of(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace parsnets
