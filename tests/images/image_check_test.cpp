#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "expect.hpp"
#include "images/image_header.hpp"
#include "images/image_problem.hpp"

namespace parsnets::test {

namespace {

using namespace std::string_literals;

const std::string kScan = "\xff\xda\0\x08......"s;

/// 7000 x 7000 pixels, and what follows the header of its frame.
std::string jpeg(const std::string& rest) {
  const std::string size = big_endian(7000, 2);
  return "\xff\xd8" + jpeg_segment(0xc2, "\x08" + size + size + "\x01\x01\x11\0"s) + rest + "\xff\xd9";
}
std::string chunk(const std::string& type, std::size_t bytes) {
  return big_endian(bytes, 4) + type + std::string(bytes, 'a') + "sum.";
}
std::string png(const std::string& before, const std::string& after = "") {
  return png_head(32, 32) + "sum." + before + chunk("IDAT", 40) + after + chunk("IEND", 0);
}
std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST(DecodingWork, ScansOfAJpegAreCounted) {
  const std::string data = "data\xff\0 more\xff\xd3 of it"s;  // with a stuffed byte and a restart
  EXPECT_EQ(message_of(jpeg(times(64, kScan + data))), "");
  for (const std::string& between :
       {data, ""s, "\xff\xff"s, "\xff\xe0\0\x04.."s, "\xff\xe0\0\0"s, "\xff\xfe\0\1"s, "\xff\x01"s})
    EXPECT_MENTIONS(message_of(jpeg(times(65, kScan + between))), "at most 64 scans, found 65");
}

TEST(DecodingWork, ScansOfThumbnailsAndOfWhatFollowsDoNotCount) {
  const std::string many = times(100, kScan);
  EXPECT_EQ(message_of(jpeg("\xff\xe1" + big_endian(2 + many.size(), 2) + many + kScan)), "");
  EXPECT_EQ(message_of(jpeg(kScan + "\xff\xd9" + many)), "");
}

TEST(DecodingWork, TextsOfAPngAreFewAndSmall) {
  EXPECT_EQ(message_of(png(times(8, chunk("tEXt", 50)), times(8, chunk("zTXt", 50)))), "");
  EXPECT_EQ(message_of(png(chunk("iTXt", 1'000'000))), "");
  EXPECT_EQ(message_of(png(chunk("prVt", 2'000'000) + times(100, chunk("eXIf", 20)))), "") << "not unpacked";
  for (const char* type : {"tEXt", "zTXt", "iTXt", "sPLT"}) {
    EXPECT_MENTIONS(message_of(png(times(17, chunk(type, 5)))), "at most 16 texts") << type;
    EXPECT_MENTIONS(message_of(png("", times(17, chunk(type, 5)))), "at most 16 texts") << type;
    EXPECT_MENTIONS(message_of(png(chunk(type, 1'000'001))), "1000000 bytes of them") << type;
  }
}

TEST(DecodingWork, PixelsBeyondTheSizeOfAPngAreRefused) {
  std::mt19937 draw(1);
  const auto packed = [&](std::size_t bytes) {
    std::string rows(bytes, '\0');
    for (char& value : rows) value = static_cast<char>(draw());
    uLongf length = ::compressBound(rows.size());
    std::string out(length, '\0');
    ::compress2(reinterpret_cast<Bytef*>(out.data()), &length, reinterpret_cast<const Bytef*>(rows.data()), rows.size(),
                9);
    return out.substr(0, length);
  };
  const auto image = [](std::size_t side, const std::string& pixels, const std::string& type, std::size_t parts) {
    std::string file = png_head(side, side, type) + "sum.";
    for (std::size_t i = 0; i < parts; ++i) {
      const std::size_t first = i * pixels.size() / parts, end = (i + 1) * pixels.size() / parts;
      file += big_endian(end - first, 4) + "IDAT" + pixels.substr(first, end - first) + "sum.";
    }
    return file + chunk("IEND", 0);
  };
  const std::size_t side = 300;
  const std::string rgb = packed((3 * side + 1) * side), more = packed(2 * (3 * side + 1) * side);
  for (const std::size_t parts : {1, 7}) {
    EXPECT_EQ(message_of(image(side, rgb, "\x08\x02", parts)), "");
    EXPECT_EQ(message_of(image(side, more, "\x10\x02", parts)), "") << "16 bits";
    EXPECT_MENTIONS(message_of(image(side, more, "\x08\x06", parts)), "more pixels") << "four channels";
    EXPECT_MENTIONS(message_of(image(side, more, "\x08\x02", parts)), "more pixels");
    EXPECT_MENTIONS(message_of(image(32, rgb, "\x08\x02", parts)), "more pixels");
  }
}

TEST(DecodingWork, APngHasOneColourProfile) {
  EXPECT_EQ(message_of(png(chunk("iCCP", 4'000'000))), "");
  EXPECT_MENTIONS(message_of(png(chunk("iCCP", 4'000'001))), "colour profile");
  EXPECT_MENTIONS(message_of(png(chunk("iCCP", 9) + chunk("iCCP", 9))), "colour profile");
}

TEST(DecodingBytes, GrowWithPixelsThreadsAndInputs) {
  const ImageInput input{PixelPreset::tf, ImageFit::whole, 10, 20};
  EXPECT_EQ(decoding_bytes({500, 1000}, input, 1, 0), 14 * 1000 + 500);
  EXPECT_EQ(decoding_bytes({500, 1000}, input, 4, 0), 4 * (14 * 1000 + 500));
  EXPECT_EQ(decoding_bytes({500, 1000}, input, 0, 3), 3 * 3 * 200 * 4);
}

}  // namespace parsnets::test
