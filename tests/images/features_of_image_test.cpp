#include "images/features_of_image.hpp"

#include <gtest/gtest.h>

#include "images/bmp_photos.hpp"
#include "parsnets/error.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace {

std::string image_refusal(const std::string& image, const ImageLimits& limits = {}) {
  BmpBackbone backbone;
  try {
    features_of_image(backbone, BmpBackbone::kInput, std::as_bytes(std::span(image)), "upload", limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST(FeaturesOfImage, LimitsHoldBeforeAnythingIsDecoded) {
  const std::string photo = bmp_photo(8, 6, 1);
  EXPECT_EQ(image_refusal(photo), "");
  EXPECT_NE(image_refusal(photo, {photo.size() - 1, 100}).find("upload: expected an image file of at most"),
            std::string::npos);
  EXPECT_NE(image_refusal(photo, {photo.size(), 47}).find("8 x 6"), std::string::npos);
  EXPECT_NE(image_refusal(photo.substr(0, 90)).find("upload: expected a complete BMP image, found the file ends early"),
            std::string::npos);
  EXPECT_NE(image_refusal("GIF89a").find("a GIF"), std::string::npos);
}

TEST(FeaturesOfImage, FilesBeyondTheLimitAreNotRead) {
  TempDir dir;
  write_photo(dir / "p.bmp", 1);
  EXPECT_EQ(read_image_file(dir / "p.bmp").size(), 54u + 3 * 8 * 6);
  EXPECT_THROW(read_image_file(dir / "p.bmp", {100, 1000}), Error);
  EXPECT_THROW(read_image_file(dir / "none.bmp"), Error);
}

}  // namespace parsnets::test
