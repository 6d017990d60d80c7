#pragma once
// What check_image() says of an image.

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "images/image_header.hpp"
#include "parsnets/error.hpp"

namespace parsnets::test {

/// The message of the error; empty: the image is taken.
inline std::string message_of(const std::string& image, const ImageLimits& limits = {}) {
  try {
    check_image(std::as_bytes(std::span(image)), limits, "photo");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.parts().file, "photo");
    return error.what();
  }
  return "";
}

}  // namespace parsnets::test
