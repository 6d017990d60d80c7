#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "images/decoding_work.hpp"
#include "images/image_bytes.hpp"
#include "images/image_header.hpp"
#include "images/jpeg_segments.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kWebpAnimation = 2;  // among the flags of VP8X

/// Whether an end of the image follows its first scan: libjpeg makes up the pixels of a file that was cut off.
bool jpeg_has_end(const ImageBytes& bytes) {
  std::size_t at = 2;
  while (const auto segment = next_jpeg_segment(bytes, at)) {
    if (segment->marker != kJpegScan) continue;
    for (std::size_t end = bytes.size(); end-- > segment->content + 1;)
      if (bytes.at(end) == kJpegEnd && bytes.at(end - 1) == 0xff) return true;
    return false;
  }
  return false;
}

/// "50 million"
std::string count_text(std::size_t count) {
  return count % 1'000'000 == 0 ? fmt::format("{} million", count / 1'000'000) : fmt::format("{}", count);
}

/// Throws bad_input for an image of more pixels than are decoded.
void check_size(const ImageHeader& header, const ImageLimits& limits, const std::string& name) {
  const std::string size = fmt::format("{} x {}", header.width, header.height);
  if (header.width > limits.max_pixels / header.height)
    throw Error(BadInput{name, "", fmt::format("at most {} pixels", count_text(limits.max_pixels)),
                         size + " pixels, too many",
                         "make the photograph smaller, or raise " + option_name("max-pixels")});
  if (std::max(header.width, header.height) > limits.max_side)
    throw Error(BadInput{name, "", fmt::format("at most {} pixels on a side", limits.max_side),
                         size + " pixels, too many", "make the photograph smaller"});
}

/// For messages about files of other formats.
std::string name_of_content(const ImageBytes& bytes) {
  constexpr std::array<std::pair<std::string_view, const char*>, 8> kOthers{{{"GIF8", "a GIF"},
                                                                             {"II*", "a TIFF"},
                                                                             {"MM", "a TIFF"},
                                                                             {"v/1\x01", "an OpenEXR image"},
                                                                             {"%PDF", "a PDF document"},
                                                                             {"<svg", "an SVG drawing"},
                                                                             {"<?xml", "an XML document"},
                                                                             {"<", "a web page"}}};
  if (bytes.has(4, "ftyp")) return "a HEIF or AVIF image, or a video";
  if (bytes.has(4, "jP  ")) return "a JPEG 2000";
  for (const auto& [start, name] : kOthers)
    if (bytes.has(0, start)) return name;
  return "another kind of file";
}

}  // namespace

ImageHeader check_image(std::span<const std::byte> content, const ImageLimits& limits, const std::string& name) {
  if (content.size() > limits.max_bytes)
    throw Error(BadInput{name, "", fmt::format("an image file of at most {} bytes", limits.max_bytes),
                         fmt::format("a file of {} bytes, too large", content.size()), "make the photograph smaller"});
  if (content.empty())
    throw Error(BadInput{name, "", "a JPEG, PNG, WebP or BMP image", "the file is empty", "get the file again"});
  const ImageBytes bytes(content);
  const auto format = read_image_format(content);
  if (!format)
    throw Error(BadInput{name, "", "a JPEG, PNG, WebP or BMP image", name_of_content(bytes), "convert it to JPEG"});
  const auto header = read_image_header(content);
  if (!header)
    throw Error(BadInput{name, "", fmt::format("a {} image with its size", name_of(*format)), "a damaged header",
                         "get the file again"});
  if (*format == ImageFormat::webp && bytes.has(12, "VP8X") && (bytes.at(20) & kWebpAnimation) != 0)
    throw Error(BadInput{name, "", "a still image", "an animated WebP", "save one of its pictures"});
  if (*format == ImageFormat::jpeg && !jpeg_has_end(bytes))
    throw Error(BadInput{name, "", "a complete JPEG image", "a file that ends early", "get the file again"});
  check_size(*header, limits, name);
  check_decoding_work(content, *format, name);
  return *header;
}

}  // namespace parsnets
