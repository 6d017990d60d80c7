#include "photo_decoding.hpp"

#include <array>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <vector>

#include "decoding_memory.hpp"
#include "images/backbone.hpp"
#include "images/image_header.hpp"
#include "images/pixels.hpp"

namespace parsnets {

namespace {

constexpr int kStays = 2;  // no code of cv::flip

/// 8 bits, three channels, upright; empty: damaged.
cv::Mat decoded(std::span<const std::byte> image, ImageFormat format) {
  const cv::Mat bytes(1, static_cast<int>(image.size()), CV_8U,
                      const_cast<std::byte*>(image.data()));  // which it does not change
  if (format == ImageFormat::png || format == ImageFormat::bmp) return cv::imdecode(bytes, cv::IMREAD_COLOR);
  // OpenCV 4.6 leaves WebP images as they are, and JPEG images that have XMP before EXIF.
  cv::Mat pixels = cv::imdecode(bytes, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
  const int orientation = exif_orientation(image);
  if (orientation == 1 || pixels.empty()) return pixels;
  cv::Mat upright;
  if (orientation >= 5)
    cv::transpose(pixels, upright);
  else
    upright = pixels;
  pixels.release();
  constexpr std::array<int, 9> kFlip{0, kStays, 1, -1, 0, kStays, 1, -1, 0};  // around y, both, x
  const int flip = kFlip[static_cast<std::size_t>(orientation)];
  if (flip != kStays) cv::flip(upright, upright, flip);
  return upright;
}

}  // namespace

void prepare_decoding() {
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; });
  cv::setNumThreads(1);  // photographs are read by several processes
  const cv::Mat pixel(2, 2, CV_8UC3, cv::Scalar(1, 2, 3));
  for (const char* ending : {".jpg", ".png", ".webp", ".bmp"}) {
    std::vector<unsigned char> bytes;
    cv::imencode(ending, pixel, bytes);
    cv::imdecode(bytes, cv::IMREAD_COLOR);
  }
}

std::string decode_photo(std::span<const std::byte> image, const ImageInput& what, std::span<float> input) {
  const auto header = read_image_header(image);
  if (!header) return "the image has no size";
  const double bytes = kDecodingBytesPerPixel * static_cast<double>(header->width * header->height);
  try {
    const cv::Mat pixels = decoded(image, header->format);
    if (pixels.empty() || pixels.type() != CV_8UC3)
      return can_allocate(static_cast<std::size_t>(bytes)) ? "a damaged image or an unsupported variant"
                                                           : kNotEnoughMemory;
    to_network_input({pixels.ptr<std::uint8_t>(), static_cast<std::size_t>(pixels.cols),
                      static_cast<std::size_t>(pixels.rows), pixels.step[0]},
                     what, input);
    return "";
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) return kNotEnoughMemory;
    return error.err.empty() ? "OpenCV failed" : error.err;
  } catch (const std::bad_alloc&) {
    return kNotEnoughMemory;
  }
}

}  // namespace parsnets
