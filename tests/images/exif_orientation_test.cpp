#include "images/exif_orientation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace parsnets::test {

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
std::string chunk(const std::string& type, const std::string& content) {
  return type + number(content.size(), 4, true) + content + std::string(content.size() % 2, '\0');
}
std::string webp(const std::string& chunks) {
  const std::string body = "WEBP" + chunk("VP8X", std::string(10, '\0')) + chunk("VP8 ", "odd") + chunks;
  return "RIFF" + number(body.size(), 4, true) + body;
}
std::string segment(int marker, const std::string& content) {
  return std::string{'\xff', static_cast<char>(marker)} + number(content.size() + 2, 2, false) + content;
}
/// With what JFIF and XMP put before it, and a scan behind it.
std::string jpeg(const std::string& segments) {
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
        EXPECT_EQ(orientation_of(webp(chunk("EXIF", name + exif(static_cast<std::size_t>(value), little)))), value);
  for (const bool little : {true, false})
    for (int value = 1; value <= 8; ++value)
      EXPECT_EQ(orientation_of(jpeg(segment(0xe1, "Exif\0\0"s + exif(static_cast<std::size_t>(value), little)))),
                value);
}

TEST(ExifOrientation, WithoutOneItIsUpright) {
  EXPECT_EQ(orientation_of(webp("")), 1);
  EXPECT_EQ(orientation_of(webp(chunk("XMP ", exif(6, true)))), 1);
  for (const std::size_t value : {0u, 9u, 65535u}) EXPECT_EQ(orientation_of(webp(chunk("EXIF", exif(value, true)))), 1);
  EXPECT_EQ(orientation_of(webp(chunk("EXIF", exif(6, true, 4)))), 1) << "another type";
  EXPECT_EQ(orientation_of("RIFF....WEBPVP8 " + chunk("EXIF", exif(6, true))), 1) << "a simple file";
  EXPECT_EQ(orientation_of(webp(chunk("EXIF", "Exif\0\0"s))), 1);
  EXPECT_EQ(orientation_of(jpeg("")), 1);
  EXPECT_EQ(orientation_of(jpeg(segment(0xe1, "Exif\0\0"s))), 1);
  EXPECT_EQ(orientation_of(jpeg(segment(0xe1, exif(6, true)))), 1) << "not named";
  EXPECT_EQ(orientation_of(jpeg("") + segment(0xe1, "Exif\0\0"s + exif(6, true))), 1) << "behind the scan";
  EXPECT_EQ(orientation_of(""), 1);
}

TEST(ExifOrientation, PrefixesAndFlippedBitsStayWithinTheFile) {
  std::mt19937 draw(1);
  for (const std::string& whole :
       {webp(chunk("EXIF", exif(6, true))), webp(chunk("EXIF", exif(6, false))),
        jpeg(segment(0xe1, "Exif\0\0"s + exif(6, true))), jpeg(segment(0xe1, "Exif\0\0"s + exif(6, false)))}) {
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
