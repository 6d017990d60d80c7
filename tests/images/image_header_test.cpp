#include "images/image_header.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "images/image_problem.hpp"
#include "parsnets/error.hpp"

namespace parsnets::test {

namespace {

using namespace std::string_literals;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string big(std::size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}
std::string little(std::size_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string png(std::size_t width, std::size_t height) {
  return "\x89PNG\r\n\x1a\n"s + big(13, 4) + "IHDR" + big(width, 4) + big(height, 4) + "\x08\x02\0\0\0"s;
}
/// With an EXIF segment that holds a thumbnail of another size, stray bytes, and fill bytes before the frame.
std::string jpeg(std::size_t width, std::size_t height, unsigned frame = 0xc2) {
  const std::string thumbnail = "\xff\xd8\xff\xc0\0\x11\x08"s + big(99, 2) + big(77, 2);
  return "\xff\xd8\xff\xe1"s + big(2 + thumbnail.size(), 2) + thumbnail + "stray" + "\xff\xff\xff"s +
         static_cast<char>(frame) + big(17, 2) + "\x08" + big(height, 2) + big(width, 2) + std::string(10, '\3') +
         "\xff\xda\0\x08......the scan\xff\0 of it\xff\xd9 and what a camera adds"s;
}
std::string webp(const std::string& chunk, const std::string& content) {
  const std::string body = "WEBP" + chunk + little(content.size(), 4) + content;
  return "RIFF" + little(body.size(), 4) + body;
}
std::string webp_lossy(std::size_t width, std::size_t height) {
  return webp("VP8 ", "\x30\x01\x00\x9d\x01\x2a"s + little(width | 0x4000, 2) + little(height, 2) + "rest");
}
std::string webp_lossless(std::size_t width, std::size_t height) {
  return webp("VP8L", "\x2f"s + little((width - 1) | (height - 1) << 14 | 1u << 28, 4) + std::string(8, '\0'));
}
std::string webp_extended(std::size_t width, std::size_t height) {
  return webp("VP8X", little(0, 4) + little(width - 1, 3) + little(height - 1, 3));
}
std::string bmp(std::size_t width, long height, std::size_t header = 40) {
  const int side = header == 12 ? 2 : 4;
  return "BM" + little(1000, 4) + little(0, 4) + little(14 + header, 4) + little(header, 4) + little(width, side) +
         little(static_cast<std::size_t>(height), side) + std::string(40, '\1');
}

std::vector<std::string> all_kinds() {
  return {png(640, 480), jpeg(640, 480), webp_lossy(640, 480), webp_lossless(640, 480), webp_extended(640, 480),
          bmp(640, 480), bmp(640, -480), bmp(640, 480, 12),    bmp(640, 480, 124),      jpeg(640, 480, 0xc0)};
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
      try {
        const ImageHeader header = check_image(exact, limits, "photo");
        EXPECT_GE(header.width, 1u);
        EXPECT_GE(header.height, 1u);
        EXPECT_LE(header.width * header.height, limits.max_pixels);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_input);
      }
    }
}

TEST(ImageHeader, BombsAndLargeFilesAreRefused) {
  EXPECT_EQ(message_of(png(50'000, 1000)), "");
  EXPECT_NE(message_of(png(50'000, 1001)).find("expected at most 50 million pixels"), std::string::npos);
  EXPECT_NE(
      message_of(png(0x7fffffff, 0x7fffffff))
          .find("found 2147483647 x 2147483647 pixels, too many; make the photograph smaller, or raise 'max-pixels'"),
      std::string::npos);
  EXPECT_NE(message_of(png(65'536, 1)).find("at most 65535 pixels on a side, found 65536 x 1 pixels, too many"),
            std::string::npos);
  EXPECT_NE(message_of(bmp(1, -2147483648L)).find("found 1 x 2147483648"), std::string::npos);
  EXPECT_NE(message_of(png(1, 1), {10, 100}).find("at most 10 bytes, found a file of "), std::string::npos);
  EXPECT_NE(message_of(png(0, 5)).find("damaged header"), std::string::npos);
  EXPECT_NE(message_of(jpeg(5, 0)).find("damaged header"), std::string::npos);
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
    EXPECT_NE(message_of(content).find(name), std::string::npos) << message_of(content);
    EXPECT_NE(message_of(content).find("expected a JPEG, PNG, WebP or BMP image"), std::string::npos);
  }
}

TEST(ImageHeader, NamesAndMediaTypes) {
  EXPECT_STREQ(name_of(ImageFormat::webp), "WebP");
  EXPECT_STREQ(media_type(ImageFormat::jpeg), "image/jpeg");
}

namespace {

using namespace std::string_literals;

std::string number(std::size_t value, int bytes, bool little) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * (little ? i : bytes - 1 - i)));
  return text;
}

/// With another entry before the orientation.
std::string exif(std::size_t orientation, bool little, std::size_t type = 3) {
  const auto n = [&](std::size_t value, int bytes) { return number(value, bytes, little); };
  return (little ? "II" : "MM") + n(42, 2) + n(10, 4) + ".." + n(2, 2) + n(0x10f, 2) + n(2, 2) + n(4, 4) + "Cam\0"s +
         n(0x112, 2) + n(type, 2) + n(1, 4) + n(orientation, 2) + n(0, 2) + n(0, 4);
}
std::string exif_chunk(const std::string& type, const std::string& content) {
  return type + number(content.size(), 4, true) + content + std::string(content.size() % 2, '\0');
}
std::string webp_with(const std::string& chunks) {
  const std::string body = "WEBP" + exif_chunk("VP8X", std::string(10, '\0')) + exif_chunk("VP8 ", "odd") + chunks;
  return "RIFF" + number(body.size(), 4, true) + body;
}
std::string segment(int marker, const std::string& content) {
  return std::string{'\xff', static_cast<char>(marker)} + number(content.size() + 2, 2, false) + content;
}
/// With what JFIF and XMP put before it, and a scan behind it.
std::string jpeg_with(const std::string& segments) {
  return "\xff\xd8" + segment(0xe0, "JFIF\0\1\1\0"s) + segment(0xe1, "http://ns.adobe.com/xap/1.0/\0<x/>"s) + segments +
         segment(0xda, "\1\1\0\0\0\0"s) + "pixels\xff\xd9";
}
int orientation_of(const std::string& file) {
  const auto bytes = std::as_bytes(std::span(file));
  return exif_orientation(std::vector<std::byte>(bytes.begin(), bytes.end()));  // sanitizers see reads beyond it
}

}  // namespace

TEST(ExifOrientation, EveryValueInBothByteOrders) {
  for (const bool little : {true, false})
    for (const std::string& name : {""s, "Exif\0\0"s})
      for (int value = 1; value <= 8; ++value)
        EXPECT_EQ(orientation_of(webp_with(exif_chunk("EXIF", name + exif(static_cast<std::size_t>(value), little)))),
                  value);
  for (const bool little : {true, false})
    for (int value = 1; value <= 8; ++value)
      EXPECT_EQ(orientation_of(jpeg_with(segment(0xe1, "Exif\0\0"s + exif(static_cast<std::size_t>(value), little)))),
                value);
}

TEST(ExifOrientation, WithoutOneItIsUpright) {
  EXPECT_EQ(orientation_of(webp_with("")), 1);
  EXPECT_EQ(orientation_of(webp_with(exif_chunk("XMP ", exif(6, true)))), 1);
  for (const std::size_t value : {0u, 9u, 65535u})
    EXPECT_EQ(orientation_of(webp_with(exif_chunk("EXIF", exif(value, true)))), 1);
  EXPECT_EQ(orientation_of(webp_with(exif_chunk("EXIF", exif(6, true, 4)))), 1) << "another type";
  EXPECT_EQ(orientation_of("RIFF....WEBPVP8 " + exif_chunk("EXIF", exif(6, true))), 1) << "a simple file";
  EXPECT_EQ(orientation_of(webp_with(exif_chunk("EXIF", "Exif\0\0"s))), 1);
  EXPECT_EQ(orientation_of(jpeg_with("")), 1);
  EXPECT_EQ(orientation_of(jpeg_with(segment(0xe1, "Exif\0\0"s))), 1);
  EXPECT_EQ(orientation_of(jpeg_with(segment(0xe1, exif(6, true)))), 1) << "not named";
  EXPECT_EQ(orientation_of(jpeg_with("") + segment(0xe1, "Exif\0\0"s + exif(6, true))), 1) << "behind the scan";
  EXPECT_EQ(orientation_of(""), 1);
}

TEST(ExifOrientation, PrefixesAndFlippedBitsStayWithinTheFile) {
  std::mt19937 draw(1);
  for (const std::string& whole :
       {webp_with(exif_chunk("EXIF", exif(6, true))), webp_with(exif_chunk("EXIF", exif(6, false))),
        jpeg_with(segment(0xe1, "Exif\0\0"s + exif(6, true))),
        jpeg_with(segment(0xe1, "Exif\0\0"s + exif(6, false)))}) {
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
