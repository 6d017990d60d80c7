#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <vector>

#include "images/image_header.hpp"
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

constexpr std::size_t kMostScans = 64, kMostTexts = 16, kMostTextBytes = 1'000'000, kMostProfileBytes = 4'000'000;
constexpr std::size_t kMostDeflated = 1032;  // times, by the format
constexpr std::size_t kSlack = 1 << 16, kLittleWork = 64 << 20;

void check_scans(const ImageBytes& bytes, const std::string& name) {
  std::size_t scans = 0, at = 2;
  while (const auto segment = next_jpeg_segment(bytes, at)) scans += segment->marker == kJpegScan;
  if (scans > kMostScans)
    throw Error(BadInput{name, "", fmt::format("a JPEG image with at most {} scans", kMostScans),
                         fmt::format("{} scans", scans), "save the photograph again"});
}

/// Bytes of all rows, unpacked, at most: an interlaced image has about two rows for each.
std::size_t row_bytes_of(const ImageBytes& png) {
  const std::size_t width = png.big(16, 4), height = png.big(20, 4), depth = png.at(24), colour = png.at(25);
  const std::size_t channels = colour == 6 ? 4 : colour == 4 ? 2 : colour == 2 ? 3 : 1;
  return width * height * channels * std::min<std::size_t>(depth, 16) / 8 + 4 * height + kSlack;
}

/// Whether the packed rows have more than `most` bytes: libpng unpacks them all.
bool unpack_beyond(const std::vector<std::span<const std::byte>>& parts, std::size_t most) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  std::vector<Bytef> room(1 << 16);
  std::size_t unpacked = 0;
  for (auto part = parts.begin(); part != parts.end() && unpacked <= most; ++part) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part->data()));  // which it does not change
    stream.avail_in = static_cast<uInt>(part->size());
    int status = Z_OK;
    do {
      stream.next_out = room.data();
      stream.avail_out = static_cast<uInt>(room.size());
      status = ::inflate(&stream, Z_NO_FLUSH);
      unpacked += room.size() - stream.avail_out;
    } while (status == Z_OK && unpacked <= most && stream.avail_out == 0);
    if (status != Z_OK && status != Z_BUF_ERROR) break;  // its end, or damage, which the decoder reports
  }
  ::inflateEnd(&stream);
  return unpacked > most;
}

void check_chunks(std::span<const std::byte> file, const std::string& name) {
  constexpr std::array<std::string_view, 4> kTexts{"tEXt", "zTXt", "iTXt", "sPLT"};
  const ImageBytes bytes(file);
  std::size_t texts = 0, text_bytes = 0, profiles = 0, profile_bytes = 0, packed = 0;
  std::vector<std::span<const std::byte>> pixels;  // packed
  for (std::size_t at = 8; at + 8 <= bytes.size();) {
    const std::size_t length = bytes.big(at, 4);
    if (std::ranges::any_of(kTexts, [&](std::string_view type) { return bytes.has(at + 4, type); })) {
      ++texts;
      text_bytes += length;
    } else if (bytes.has(at + 4, "iCCP")) {
      ++profiles;
      profile_bytes += length;
    } else if (bytes.has(at + 4, "IDAT")) {
      pixels.push_back(file.subspan(at + 8, std::min(length, bytes.size() - at - 8)));
      packed += pixels.back().size();
    }
    at += 12 + length;
  }
  if (texts > kMostTexts || text_bytes > kMostTextBytes)
    throw Error(
        BadInput{name, "", fmt::format("at most {} texts in a PNG image, {} bytes of them", kMostTexts, kMostTextBytes),
                 fmt::format("{} texts of {} bytes", texts, text_bytes), "save the photograph again, without texts"});
  if (profiles > 1 || profile_bytes > kMostProfileBytes)
    throw Error(BadInput{name, "",
                         fmt::format("at most one colour profile in a PNG image, of {} bytes", kMostProfileBytes),
                         fmt::format("{} colour profiles of {} bytes", profiles, profile_bytes),
                         "save the photograph again, without profiles"});
  const std::size_t most = row_bytes_of(bytes);
  if (packed * kMostDeflated > most + kLittleWork && unpack_beyond(pixels, most))
    throw Error(BadInput{name, "", "a PNG image that ends with its last pixel", "more pixels than its size says",
                         "save the photograph again"});
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
  if (*format == ImageFormat::jpeg) check_scans(bytes, name);
  if (*format == ImageFormat::png) check_chunks(content, name);
  return *header;
}

}  // namespace parsnets
