#include "formats/element_type.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace parsnets {

TEST(ElementType, ConvertsBothByteOrders) {
  const std::array<unsigned char, 4> big{0x01, 0x02, 0xff, 0xfe};
  std::array<float, 2> out{};
  convert_to_float(ElementType::i16, std::endian::big, big.data(), 2, out.data());
  EXPECT_EQ(out[0], 258.0f);
  EXPECT_EQ(out[1], -2.0f);
  convert_to_float(ElementType::u16, std::endian::little, big.data(), 2, out.data());
  EXPECT_EQ(out[0], 513.0f);
  EXPECT_EQ(out[1], 65279.0f);
}

TEST(ElementType, SixtyFourBitIntegersSurviveInDoubles) {
  const std::uint64_t value = (1ull << 53) - 1;
  double out = 0;
  convert_to_double(ElementType::u64, std::endian::native, &value, 1, &out);
  EXPECT_EQ(out, 9007199254740991.0);
}

TEST(ElementType, SizesAndNamesAgree) {
  EXPECT_EQ(element_name(ElementType::u64), "uint64");
  EXPECT_EQ(element_name(ElementType::f16), "float16");
  EXPECT_EQ(element_size(ElementType::f16), 2u);
  EXPECT_EQ(element_size(ElementType::i8), 1u);
  EXPECT_EQ(element_size(ElementType::f64), 8u);
}

}  // namespace parsnets
