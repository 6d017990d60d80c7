// Text of MATLAB files: char arrays in their several encodings to UTF-8 and back.

#include <algorithm>
#include <cstring>

#include "formats/mat_common.hpp"
#include "parsnets/error.hpp"

namespace parsnets::mat {

namespace {

constexpr char32_t kLastCodePoint = 0x10ffff;

bool is_high(char32_t c) { return c >= 0xd800 && c <= 0xdbff; }
bool is_low(char32_t c) { return c >= 0xdc00 && c <= 0xdfff; }

std::optional<std::u32string> decode_utf8(std::span<const unsigned char> bytes) {
  std::u32string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned char lead = bytes[i];
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || bytes.size() - i < length) return std::nullopt;
    char32_t c = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      if (bytes[i + k] >> 6 != 2) return std::nullopt;
      c = c << 6 | (bytes[i + k] & 0x3fu);
    }
    static constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < kSmallest[length] || c > kLastCodePoint || is_high(c) || is_low(c)) return std::nullopt;
    out.push_back(c);
    i += length;
  }
  return out;
}

}  // namespace

std::optional<std::u32string> decode_chars(CharCode code, std::endian order, std::span<const unsigned char> bytes) {
  if (code == CharCode::utf8) return decode_utf8(bytes);
  const std::size_t width = code == CharCode::latin1 ? 1 : code == CharCode::utf16 ? 2 : 4;
  if (bytes.size() % width != 0) return std::nullopt;
  std::u32string out(bytes.size() / width, U'\0');
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t k = 0; k < width; ++k)
      out[i] = out[i] << 8 | bytes[i * width + (order == std::endian::big ? k : width - 1 - k)];
  return out;
}

std::optional<std::string> to_utf8(std::u32string_view elements) {
  std::string out;
  out.reserve(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    char32_t c = elements[i];
    if (is_high(c) && i + 1 < elements.size() && is_low(elements[i + 1])) {
      c = 0x10000 + ((c - 0xd800) << 10) + (elements[++i] - 0xdc00);
    } else if (c > kLastCodePoint || is_high(c) || is_low(c)) {
      return std::nullopt;
    }
    const auto tail = [&](int shift) { out.push_back(static_cast<char>(0x80 | (c >> shift & 0x3f))); };
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out.push_back(static_cast<char>(0xc0 | c >> 6));
      tail(0);
    } else if (c < 0x10000) {
      out.push_back(static_cast<char>(0xe0 | c >> 12));
      tail(6);
      tail(0);
    } else {
      out.push_back(static_cast<char>(0xf0 | c >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }
  return out;
}

std::u32string to_utf16(std::u32string_view code_points) {
  std::u32string out;
  out.reserve(code_points.size());
  for (const char32_t c : code_points) {
    if (c < 0x10000) {
      out.push_back(c);
    } else {
      out.push_back(0xd800 + ((c - 0x10000) >> 10));
      out.push_back(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  return out;
}

std::optional<std::vector<std::string>> char_rows(std::u32string_view elements, std::uint64_t rows,
                                                  std::uint64_t cols) {
  std::vector<std::string> out;
  if (rows == 0 || (rows > 1 && cols == 0)) return out;
  if (rows == 1) {
    auto text = to_utf8(elements);
    if (!text) return std::nullopt;
    out.push_back(std::move(*text));
    return out;
  }
  if (elements.size() / rows != cols || elements.size() % rows != 0) return std::nullopt;
  std::u32string row(cols, U'\0');
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (std::uint64_t c = 0; c < cols; ++c) row[c] = elements[c * rows + r];
    std::u32string_view trimmed = row;
    while (!trimmed.empty() && trimmed.back() == U' ') trimmed.remove_suffix(1);
    auto text = to_utf8(trimmed);
    if (!text) return std::nullopt;
    out.push_back(std::move(*text));
  }
  return out;
}

std::u32string require_utf8(std::string_view variable, std::string_view text) {
  auto decoded = decode_utf8({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  if (!decoded)
    throw Error(ErrorCode::usage, "a string for the MATLAB variable '" + std::string(variable) + "' is not UTF-8");
  return std::move(*decoded);
}

}  // namespace parsnets::mat
