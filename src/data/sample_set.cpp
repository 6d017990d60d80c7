#include "data/sample_set.hpp"

#include <zlib.h>

namespace parsnets {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string samples_to_hex(std::span<const std::int32_t> samples) {
  if (samples.empty()) return "";
  std::vector<unsigned char> digits(static_cast<std::size_t>(std::ranges::max(samples)) / 4 + 1, 0);
  for (const auto s : samples) digits[static_cast<std::size_t>(s) / 4] |= static_cast<unsigned char>(1u << (s % 4));
  std::string hex;
  hex.reserve(digits.size());
  for (const auto digit : digits) hex += kDigits[digit];
  return hex;
}

std::vector<std::int32_t> samples_from_hex(std::string_view hex) {
  std::vector<std::int32_t> samples;
  if (hex.size() > std::size_t{1} << 29) return samples;  // samples are numbered by int32
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const auto digit = kDigits.find(hex[i]);
    if (digit == std::string_view::npos) return {};
    for (std::size_t bit = 0; bit < 4; ++bit)
      if (digit >> bit & 1) samples.push_back(static_cast<std::int32_t>(4 * i + bit));
  }
  return samples;
}

std::string features_checksum(const Matrix<float>& features, std::span<const std::int32_t> samples) {
  constexpr std::size_t kMost = 256;
  const std::size_t taken = std::min(kMost, samples.size());
  uLong sum = ::crc32_z(0, nullptr, 0);
  UsedRows used(features);
  for (std::size_t i = 0; i < taken; ++i) {
    const auto r = static_cast<std::size_t>(samples[i * samples.size() / taken]);
    const auto row = features.row(r);
    sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(row.data()), row.size_bytes());
    used.add(r, 1);
  }
  return fmt::format("{:08x}", sum);
}

}  // namespace parsnets
