#include "images/decoding_bytes.hpp"

#include <gtest/gtest.h>

namespace parsnets::test {

TEST(DecodingBytes, GrowWithPixelsThreadsAndInputs) {
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 10, 20};
  EXPECT_EQ(decoding_bytes({500, 1000}, input, 1, 0), 14 * 1000 + 500);
  EXPECT_EQ(decoding_bytes({500, 1000}, input, 4, 0), 4 * (14 * 1000 + 500));
  EXPECT_EQ(decoding_bytes({500, 1000}, input, 0, 3), 3 * 3 * 200 * 4);
}

}  // namespace parsnets::test
