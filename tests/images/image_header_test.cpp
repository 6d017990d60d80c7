#include "images/image_header.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "expect.hpp"
#include "images/image_problem.hpp"

namespace parsnets::test {

namespace {

using namespace std::string_literals;

/// With an EXIF segment that holds a thumbnail of another size, stray bytes, and fill bytes before the frame.
std::string jpeg(std::size_t width, std::size_t height, int frame = 0xc2) {
  const std::string thumbnail = "\xff\xd8\xff\xc0\0\x11\x08"s + big_endian(99, 2) + big_endian(77, 2);
  return "\xff\xd8" + jpeg_segment(0xe1, thumbnail) + "stray\xff\xff" +
         jpeg_segment(frame, "\x08" + big_endian(height, 2) + big_endian(width, 2) + std::string(10, '\3')) +
         "\xff\xda\0\x08......the scan\xff\0 of it\xff\xd9 and what a camera adds"s;
}
std::string riff_chunk(const std::string& type, const std::string& content) {
  return type + little_endian(content.size(), 4) + content + std::string(content.size() % 2, '\0');
}
std::string webp(const std::string& chunks) { return "RIFF" + little_endian(4 + chunks.size(), 4) + "WEBP" + chunks; }
std::string webp_lossy(std::size_t width, std::size_t height) {
  return webp(riff_chunk(
      "VP8 ", "\x30\x01\x00\x9d\x01\x2a"s + little_endian(width | 0x4000, 2) + little_endian(height, 2) + "rest"));
}
std::string webp_lossless(std::size_t width, std::size_t height) {
  return webp(riff_chunk(
      "VP8L", "\x2f"s + little_endian((width - 1) | (height - 1) << 14 | 1u << 28, 4) + std::string(8, '\0')));
}
std::string webp_extended(std::size_t width, std::size_t height) {
  return webp(riff_chunk("VP8X", little_endian(0, 4) + little_endian(width - 1, 3) + little_endian(height - 1, 3)));
}
std::string bmp(std::size_t width, long height, std::size_t header = 40) {
  const int side = header == 12 ? 2 : 4;
  return "BM" + little_endian(1000, 4) + little_endian(0, 4) + little_endian(14 + header, 4) +
         little_endian(header, 4) + little_endian(width, side) + little_endian(static_cast<std::size_t>(height), side) +
         std::string(40, '\1');
}

std::vector<std::string> all_kinds() {
  return {png_head(640, 480), jpeg(640, 480), webp_lossy(640, 480), webp_lossless(640, 480), webp_extended(640, 480),
          bmp(640, 480),      bmp(640, -480), bmp(640, 480, 12),    bmp(640, 480, 124),      jpeg(640, 480, 0xc0)};
}

/// With another entry before the orientation.
std::string exif(std::size_t orientation, bool little, std::size_t type = 3) {
  const auto n = little ? little_endian : big_endian;
  return (little ? "II" : "MM") + n(42, 2) + n(10, 4) + ".." + n(2, 2) + n(0x10f, 2) + n(2, 2) + n(4, 4) + "Cam\0"s +
         n(0x112, 2) + n(type, 2) + n(1, 4) + n(orientation, 2) + n(0, 2) + n(0, 4);
}
std::string webp_with(const std::string& chunks) {
  return webp(riff_chunk("VP8X", std::string(10, '\0')) + riff_chunk("VP8 ", "odd") + chunks);
}
/// With what JFIF and XMP put before it, and a scan behind it.
std::string jpeg_with(const std::string& segments) {
  return "\xff\xd8" + jpeg_segment(0xe0, "JFIF\0\1\1\0"s) + jpeg_segment(0xe1, "http://ns.adobe.com/xap/1.0/\0<x/>"s) +
         segments + jpeg_segment(0xda, "\1\1\0\0\0\0"s) + "pixels\xff\xd9";
}
int orientation_of(const std::string& file) {
  const auto bytes = bytes_of(file);
  return exif_orientation(std::vector<std::byte>(bytes.begin(), bytes.end()));  // sanitizers see reads beyond it
}

}  // namespace

TEST(ImageHeader, SizesOfEveryKind) {
  const std::vector<ImageFormat> formats{ImageFormat::png,  ImageFormat::jpeg, ImageFormat::webp, ImageFormat::webp,
                                         ImageFormat::webp, ImageFormat::bmp,  ImageFormat::bmp,  ImageFormat::bmp,
                                         ImageFormat::bmp,  ImageFormat::jpeg};
  const auto kinds = all_kinds();
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const auto header = read_image_header(bytes_of(kinds[k]));
    ASSERT_TRUE(header) << k;
    EXPECT_EQ(header->format, formats[k]) << k;
    EXPECT_EQ(header->width, 640u) << k;
    EXPECT_EQ(header->height, 480u) << k;
    EXPECT_EQ(message_of(kinds[k]), "") << k;
  }
}

TEST(ImageHeader, APrefixIsAnImageOfThatSizeOrNone) {
  for (const auto& image : all_kinds()) {
    bool known = false;
    for (std::size_t length = 0; length <= image.size(); ++length) {
      const std::vector<std::byte> exact(bytes_of(image).begin(), bytes_of(image).begin() + static_cast<long>(length));
      const auto header = read_image_header(exact);  // in memory of its own: sanitizers see reads beyond it
      if (header) {
        EXPECT_EQ(header->width, 640u);
        EXPECT_EQ(header->height, 480u);
      }
      EXPECT_FALSE(known && !header) << "longer prefixes say no less";
      known = header.has_value();
    }
    EXPECT_TRUE(known);
  }
}

TEST(ImageHeader, DamagedBytesNeverGiveASizeBeyondTheLimits) {
  std::mt19937 draw(1);
  const ImageLimits limits;
  for (const auto& image : all_kinds())
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = image.substr(0, 1 + draw() % image.size());
      for (unsigned flips = 1 + draw() % 6; flips > 0; --flips)
        damaged[draw() % damaged.size()] ^= static_cast<char>(1u << draw() % 8);
      const std::vector<std::byte> exact(bytes_of(damaged).begin(), bytes_of(damaged).end());
      is_refused([&] {
        const ImageHeader header = check_image(exact, limits, "photo");
        EXPECT_GE(header.width, 1u);
        EXPECT_GE(header.height, 1u);
        EXPECT_LE(header.width * header.height, limits.max_pixels);
      });
    }
}

TEST(ImageHeader, BombsAndLargeFilesAreRefused) {
  EXPECT_EQ(message_of(png_head(50'000, 1000)), "");
  EXPECT_MENTIONS(message_of(png_head(50'000, 1001)), "expected at most 50 million pixels");
  EXPECT_MENTIONS(message_of(png_head(0x7fffffff, 0x7fffffff)),
                  "found 2147483647 x 2147483647 pixels, too many; make the photograph smaller, or raise 'max-pixels'");
  EXPECT_MENTIONS(message_of(png_head(65'536, 1)), "at most 65535 pixels on a side, found 65536 x 1 pixels, too many");
  EXPECT_MENTIONS(message_of(bmp(1, -2147483648L)), "found 1 x 2147483648");
  EXPECT_MENTIONS(message_of(png_head(1, 1), {10, 100}), "at most 10 bytes, found a file of ");
  EXPECT_MENTIONS(message_of(png_head(0, 5)), "damaged header");
  EXPECT_MENTIONS(message_of(jpeg(5, 0)), "damaged header");
}

TEST(ImageHeader, AJpegThatWasCutOffIsRefused) {
  const std::string whole = jpeg(640, 480);
  const std::size_t scan = whole.rfind("\xff\xda"), end = whole.rfind("\xff\xd9");
  for (std::size_t length = scan; length < whole.size(); ++length)
    EXPECT_EQ(message_of(whole.substr(0, length)).find("ends early") == std::string::npos, length >= end + 2) << length;
}

TEST(ImageHeader, AnAnimationIsRefused) {
  std::string image = webp_extended(640, 480);
  EXPECT_EQ(message_of(image).find("animated"), std::string::npos);
  image[20] |= '\x12';  // and alpha
  EXPECT_EQ(message_of(image), "photo: expected a still image, found an animated WebP; save one of its pictures");
  image[20] = '\x10';
  EXPECT_EQ(message_of(image).find("animated"), std::string::npos);
}

TEST(ImageHeader, OtherFormatsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> others{{"GIF89a........", "a GIF"},
                                                                {"II*\0........"s, "a TIFF"},
                                                                {"MM\0*........"s, "a TIFF"},
                                                                {"v/1\x01........", "OpenEXR"},
                                                                {"\0\0\0\x0cjP  \r\n"s, "JPEG 2000"},
                                                                {"\0\0\0\x1c"s + "ftypavif", "AVIF"},
                                                                {"<!doctype html>", "a web page"},
                                                                {"%PDF-1.4", "a PDF"},
                                                                {"", "the file is empty"},
                                                                {"P6 3 3 255 ", "another kind"}};
  for (const auto& [content, name] : others) {
    EXPECT_FALSE(read_image_header(bytes_of(content)));
    EXPECT_MENTIONS(message_of(content), name);
    EXPECT_MENTIONS(message_of(content), "expected a JPEG, PNG, WebP or BMP image");
  }
}

TEST(ImageHeader, NamesAndMediaTypes) {
  EXPECT_STREQ(name_of(ImageFormat::webp), "WebP");
  EXPECT_STREQ(media_type(ImageFormat::jpeg), "image/jpeg");
}

TEST(ExifOrientation, EveryValueInBothByteOrders) {
  for (const bool little : {true, false})
    for (int value = 1; value <= 8; ++value) {
      const std::string tiff = exif(static_cast<std::size_t>(value), little), named = "Exif\0\0"s + tiff;
      EXPECT_EQ(orientation_of(webp_with(riff_chunk("EXIF", tiff))), value);
      EXPECT_EQ(orientation_of(webp_with(riff_chunk("EXIF", named))), value);
      EXPECT_EQ(orientation_of(jpeg_with(jpeg_segment(0xe1, named))), value);
    }
}

TEST(ExifOrientation, WithoutOneItIsUpright) {
  EXPECT_EQ(orientation_of(webp_with("")), 1);
  EXPECT_EQ(orientation_of(webp_with(riff_chunk("XMP ", exif(6, true)))), 1);
  for (const std::size_t value : {0u, 9u, 65535u})
    EXPECT_EQ(orientation_of(webp_with(riff_chunk("EXIF", exif(value, true)))), 1);
  EXPECT_EQ(orientation_of(webp_with(riff_chunk("EXIF", exif(6, true, 4)))), 1) << "another type";
  EXPECT_EQ(orientation_of("RIFF....WEBPVP8 " + riff_chunk("EXIF", exif(6, true))), 1) << "a simple file";
  EXPECT_EQ(orientation_of(webp_with(riff_chunk("EXIF", "Exif\0\0"s))), 1);
  EXPECT_EQ(orientation_of(jpeg_with("")), 1);
  EXPECT_EQ(orientation_of(jpeg_with(jpeg_segment(0xe1, "Exif\0\0"s))), 1);
  EXPECT_EQ(orientation_of(jpeg_with(jpeg_segment(0xe1, exif(6, true)))), 1) << "not named";
  EXPECT_EQ(orientation_of(jpeg_with("") + jpeg_segment(0xe1, "Exif\0\0"s + exif(6, true))), 1) << "behind the scan";
  EXPECT_EQ(orientation_of(""), 1);
}

TEST(ExifOrientation, PrefixesAndFlippedBitsStayWithinTheFile) {
  std::mt19937 draw(1);
  for (const std::string& whole :
       {webp_with(riff_chunk("EXIF", exif(6, true))), webp_with(riff_chunk("EXIF", exif(6, false))),
        jpeg_with(jpeg_segment(0xe1, "Exif\0\0"s + exif(6, true))),
        jpeg_with(jpeg_segment(0xe1, "Exif\0\0"s + exif(6, false)))}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const int found = orientation_of(whole.substr(0, length));
      EXPECT_TRUE(found == 1 || (found == 6 && whole[0] != 'R')) << length;
    }
    for (int round = 0; round < 20'000; ++round) {
      std::string damaged = whole;
      for (unsigned flips = 1 + draw() % 6; flips > 0; --flips)
        damaged[draw() % damaged.size()] ^= static_cast<char>(1u << draw() % 8);
      const int found = orientation_of(damaged);
      EXPECT_TRUE(found >= 1 && found <= 8) << found;
    }
  }
}

}  // namespace parsnets::test
