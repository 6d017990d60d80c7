#include "images/decoding_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "images/jpeg_segments.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostScans = 64, kMostTexts = 16, kMostTextBytes = 1'000'000, kMostProfileBytes = 4'000'000;

void check_scans(const ImageBytes& bytes, const std::string& name) {
  std::size_t scans = 0, at = 2;
  while (const auto segment = next_jpeg_segment(bytes, at)) scans += segment->marker == kJpegScan;
  if (scans > kMostScans)
    throw Error(BadInput{name, "", fmt::format("a JPEG image with at most {} scans", kMostScans),
                         fmt::format("{}", scans), "save the photograph again"});
}

void check_chunks(const ImageBytes& bytes, const std::string& name) {
  constexpr std::array<std::string_view, 4> kTexts{"tEXt", "zTXt", "iTXt", "sPLT"};
  std::size_t texts = 0, text_bytes = 0, profiles = 0, profile_bytes = 0;
  for (std::size_t at = 8; at + 8 <= bytes.size();) {
    const std::size_t length = bytes.big(at, 4);
    if (std::ranges::any_of(kTexts, [&](std::string_view type) { return bytes.has(at + 4, type); })) {
      ++texts;
      text_bytes += length;
    }
    if (bytes.has(at + 4, "iCCP")) {
      ++profiles;
      profile_bytes += length;
    }
    at += 12 + length;
  }
  if (texts > kMostTexts || text_bytes > kMostTextBytes)
    throw Error(BadInput{name, "",
                         fmt::format("at most {} texts in a PNG image, {} bytes of them", kMostTexts, kMostTextBytes),
                         fmt::format("{}, {} bytes", texts, text_bytes), "save the photograph again, without texts"});
  if (profiles > 1 || profile_bytes > kMostProfileBytes)
    throw Error(
        BadInput{name, "", fmt::format("at most one colour profile in a PNG image, of {} bytes", kMostProfileBytes),
                 fmt::format("{}, {} bytes", profiles, profile_bytes), "save the photograph again, without profiles"});
}

}  // namespace

void check_decoding_work(const ImageBytes& bytes, ImageFormat format, const std::string& name) {
  if (format == ImageFormat::jpeg) check_scans(bytes, name);
  if (format == ImageFormat::png) check_chunks(bytes, name);
}

}  // namespace parsnets
