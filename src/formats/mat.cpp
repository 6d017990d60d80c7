// MATLAB files: telling the versions apart, and what both have in common.

#include "formats/mat.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file.hpp"
#include "base/text.hpp"
#include "formats/mat_common.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::array<unsigned char, 8> kHdf5Signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

// HDF5 puts its signature at byte 0 or after a user block of 512, 1024, 2048, … bytes.
bool has_hdf5_signature(InputFile& file) {
  for (std::uint64_t offset = 0; offset <= file.size() - std::min(file.size(), kHdf5Signature.size());
       offset = offset == 0 ? 512 : offset * 2) {
    std::array<unsigned char, kHdf5Signature.size()> bytes{};
    file.seek(offset);
    file.read(bytes.data(), std::min<std::uint64_t>(bytes.size(), file.remaining()), "signature");
    if (bytes == kHdf5Signature) return true;
  }
  return false;
}

enum class Content { v4, v5, v73, cut_v73, other };

Content tell_content(const std::filesystem::path& path) {
  InputFile file(path);
  std::array<unsigned char, 128> header{};
  file.read(header.data(), std::min<std::uint64_t>(header.size(), file.size()), "header");
  const bool little = header[126] == 'I' && header[127] == 'M';
  const bool big = header[126] == 'M' && header[127] == 'I';
  const unsigned major = little ? header[125] : big ? header[124] : 0;
  if (major == 1) return Content::v5;
  if (has_hdf5_signature(file)) return Content::v73;
  if (major == 2) return Content::cut_v73;
  if (file.size() >= 20 && std::memchr(header.data(), 0, 4) != nullptr && header[0] < 60 && header[1] < 60)
    return Content::v4;
  return Content::other;
}

}  // namespace

std::unique_ptr<MatFile> MatFile::open(const std::filesystem::path& path) {
  switch (tell_content(path)) {
    case Content::v5: return mat::open_v5(path);
    case Content::v73: return mat::open_v73(path);
    case Content::v4:
      mat::refuse(path.string(), "header", "a MATLAB file of version 5 or 7.3", "what appears to be version 4",
                  "save it again in MATLAB with save -v7");
    case Content::cut_v73: mat::refuse(path.string(), "header", "HDF5 data after a MATLAB 7.3 header", "none");
    case Content::other: break;
  }
  mat::refuse(path.string(), "header", "a MATLAB file of version 5 or 7.3", "something else",
              "check that this is the right file and that it is complete");
}

const MatVariable* MatFile::find(std::string_view name) const {
  // The last of a name counts, as in MATLAB.
  const auto& all = variables();
  const auto it = std::find_if(all.rbegin(), all.rend(), [&](const MatVariable& v) { return v.name == name; });
  return it == all.rend() ? nullptr : &*it;
}

namespace mat {

void refuse(const std::string& file, std::string_view variable, std::string expected, std::string found,
            std::string_view advice) {
  throw Error(BadInput{file, std::string(variable), std::move(expected), std::move(found), std::string(advice)});
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const auto d : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(d);
  }
  return text;
}

bool is_numeric_kind(std::string_view kind) {
  static constexpr std::array<std::string_view, 12> kNumeric{
      "double", "single", "half", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "logical"};
  return std::find(kNumeric.begin(), kNumeric.end(), kind) != kNumeric.end();
}

std::string kind_advice(std::string_view kind) {
  if (kind == "sparse") return "save full(x) instead";
  if (kind == "struct") return "save its fields as variables: save -struct";
  return "check the variable's name, or save it as a numeric array";
}

ByteProgress::ByteProgress(ProgressObserver* observer, std::string stage, std::uint64_t total_bytes)
    : observer_(observer), stage_(std::move(stage)), total_(total_bytes) {
  tell();
}

void ByteProgress::advance(std::uint64_t bytes) {
  done_ += bytes;
  if (done_ - told_ >= kStep && done_ < total_) tell();
}

void ByteProgress::finish() {
  done_ = total_;
  tell();
}

void ByteProgress::tell() {
  constexpr std::uint64_t kMega = 1000000;
  told_ = done_;
  report(observer_,
         {stage_, done_ == total_ ? (done_ + kMega - 1) / kMega : done_ / kMega, (total_ + kMega - 1) / kMega, "MB"});
}

// Text of MATLAB files: char arrays in their several encodings to UTF-8.

namespace {

bool is_high(char32_t c) { return c >= 0xd800 && c <= 0xdbff; }
bool is_low(char32_t c) { return c >= 0xdc00 && c <= 0xdfff; }

std::optional<std::u32string> decode_utf8(std::span<const unsigned char> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto code_point = next_code_point(text, i);
    if (!code_point) return std::nullopt;
    out.push_back(*code_point);
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
    if (is_high(c) && i + 1 < elements.size() && is_low(elements[i + 1]))
      c = 0x10000 + ((c - 0xd800) << 10) + (elements[++i] - 0xdc00);
    if (!append_utf8(out, c)) return std::nullopt;
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

}  // namespace mat
}  // namespace parsnets
