#include "images/decoding_work.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "images/image_bytes.hpp"
#include "images/jpeg_segments.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

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

struct PngChunks {
  std::size_t texts = 0, text_bytes = 0, profiles = 0, profile_bytes = 0;
  std::vector<std::span<const std::byte>> pixels;  ///< packed
};

PngChunks chunks_of(std::span<const std::byte> file) {
  constexpr std::array<std::string_view, 4> kTexts{"tEXt", "zTXt", "iTXt", "sPLT"};
  const ImageBytes bytes(file);
  PngChunks chunks;
  for (std::size_t at = 8; at + 8 <= bytes.size();) {
    const std::size_t length = bytes.big(at, 4);
    if (std::ranges::any_of(kTexts, [&](std::string_view type) { return bytes.has(at + 4, type); })) {
      ++chunks.texts;
      chunks.text_bytes += length;
    }
    if (bytes.has(at + 4, "iCCP")) {
      ++chunks.profiles;
      chunks.profile_bytes += length;
    }
    if (bytes.has(at + 4, "IDAT"))
      chunks.pixels.push_back(file.subspan(at + 8, std::min(length, bytes.size() - at - 8)));
    at += 12 + length;
  }
  return chunks;
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
  const PngChunks chunks = chunks_of(file);
  if (chunks.texts > kMostTexts || chunks.text_bytes > kMostTextBytes)
    throw Error(BadInput{name, "",
                         fmt::format("at most {} texts in a PNG image, {} bytes of them", kMostTexts, kMostTextBytes),
                         fmt::format("{} texts of {} bytes", chunks.texts, chunks.text_bytes),
                         "save the photograph again, without texts"});
  if (chunks.profiles > 1 || chunks.profile_bytes > kMostProfileBytes)
    throw Error(BadInput{name, "",
                         fmt::format("at most one colour profile in a PNG image, of {} bytes", kMostProfileBytes),
                         fmt::format("{} colour profiles of {} bytes", chunks.profiles, chunks.profile_bytes),
                         "save the photograph again, without profiles"});
  std::size_t packed = 0;
  for (const auto part : chunks.pixels) packed += part.size();
  const std::size_t most = row_bytes_of(ImageBytes(file));
  if (packed * kMostDeflated > most + kLittleWork && unpack_beyond(chunks.pixels, most))
    throw Error(BadInput{name, "", "a PNG image that ends with its last pixel", "more pixels than its size says",
                         "save the photograph again"});
}

}  // namespace

void check_decoding_work(std::span<const std::byte> file, ImageFormat format, const std::string& name) {
  if (format == ImageFormat::jpeg) check_scans(ImageBytes(file), name);
  if (format == ImageFormat::png) check_chunks(file, name);
}

}  // namespace parsnets
