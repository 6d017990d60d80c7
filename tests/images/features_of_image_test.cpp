#include "images/features_of_image.hpp"

#include <gtest/gtest.h>

#include "expect.hpp"
#include "images/bmp_photos.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

TEST(FeaturesOfImage, LimitsHoldBeforeAnythingIsDecoded) {
  const auto read = [](const std::string& image, const ImageLimits& limits = {}) {
    BmpBackbone backbone;
    features_of_image(backbone, BmpBackbone::kInput, bytes_of(image), "upload", limits);
  };
  const auto refusal = [&](const std::string& image, const ImageLimits& limits = {}) {
    return bad_input_message([&] { read(image, limits); });
  };
  const std::string photo = bmp_photo(8, 6, 1);
  EXPECT_NO_THROW(read(photo));
  EXPECT_MENTIONS(refusal(photo, {photo.size() - 1, 100}), "upload: expected an image file of at most");
  EXPECT_MENTIONS(refusal(photo, {photo.size(), 47}), "8 x 6");
  EXPECT_MENTIONS(refusal(photo.substr(0, 90)), "upload: expected a complete BMP image, found the file ends early");
  EXPECT_MENTIONS(refusal("GIF89a"), "a GIF");
}

TEST(FeaturesOfImage, FilesBeyondTheLimitAreNotRead) {
  TempDir dir;
  write_photo(dir / "p.bmp", 1);
  EXPECT_EQ(read_image_file(dir / "p.bmp").size(), 54u + 3 * 8 * 6);
  EXPECT_THROW(read_image_file(dir / "p.bmp", {100, 1000}), Error);
  EXPECT_THROW(read_image_file(dir / "none.bmp"), Error);
}

}  // namespace parsnets::test
