// MATLAB files: telling the versions apart, and what both have in common.

#include "formats/mat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>

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

/// What is said of a variable that is no array of numbers.
std::string kind_advice(std::string_view kind) {
  if (kind == "sparse") return "save full(x) instead";
  if (kind == "struct") return "save its fields as variables: save -struct";
  return "check the variable's name, or save it as a numeric array";
}

}  // namespace

std::unique_ptr<MatFile> MatFile::open(const std::filesystem::path& path) {
  InputFile file(path);
  std::array<unsigned char, 128> header{};
  file.read(header.data(), std::min<std::uint64_t>(header.size(), file.size()), "header");
  const bool little = header[126] == 'I' && header[127] == 'M';
  const bool big = header[126] == 'M' && header[127] == 'I';
  const unsigned major = little ? header[125] : big ? header[124] : 0;
  if (major == 1) return mat::open_v5(path);
  if (has_hdf5_signature(file)) return mat::open_v73(path);
  if (major == 2) mat::refuse(file.name(), "header", "HDF5 data after a MATLAB 7.3 header", "none");
  const bool v4 = file.size() >= 20 && std::memchr(header.data(), 0, 4) != nullptr && header[0] < 60 && header[1] < 60;
  mat::refuse(
      file.name(), "header", "a MATLAB file of version 5 or 7.3",
      v4 ? "what appears to be version 4" : "something else",
      v4 ? "save it again in MATLAB with save -v7" : "check that this is the right file and that it is complete");
}

const MatVariable* MatFile::find(std::string_view name) const {
  // The last of a name counts, as in MATLAB.
  const auto it = std::find_if(variables_.rbegin(), variables_.rend(), [&](const auto& v) { return v.name == name; });
  return it == variables_.rend() ? nullptr : &*it;
}

std::unique_ptr<mat::Array> MatFile::open_array(const std::string& name) {
  const MatVariable* found = find(name);
  if (found == nullptr) mat::refuse(name_, name, "a variable of this name", "none", "check the file and the name");
  return open_array(static_cast<std::size_t>(found - variables_.data()));
}

template <class T>
Matrix<T> MatFile::read_numeric(const std::string& name, ProgressObserver* progress, const MatrixPlace& place) {
  const auto array = open_array(name);
  if (!mat::is_numeric_kind(array->kind))
    mat::refuse(name_, name, "a numeric array", array->kind, kind_advice(array->kind));
  if (array->complex) mat::refuse(name_, name, "real values", "complex values", "save real(x) or abs(x) instead");
  if (array->shape.size() != 2)
    mat::refuse(name_, name, "a matrix of 2 dimensions", mat::shape_text(array->shape), "reshape it before saving");
  array->start(place);
  Matrix<T> out;
  if constexpr (std::is_same_v<T, float>)
    out = new_matrix(array->shape[1], array->shape[0], place, "the values of " + name_);
  else
    out = Matrix<T>(array->shape[1], array->shape[0]);
  if (out.empty()) return out;
  UsedRows filled(out);
  LoadProgress told(progress, name, out.size() * sizeof(T));
  array->read([&](const mat::RawTile& tile) {
    for (std::uint64_t r = 0; r < tile.rows; ++r)
      convert_values(array->type, array->order, tile.data + r * tile.row_bytes, tile.cols,
                     &out(tile.row + r, tile.col));
    filled.add(tile.row, tile.rows);
    told.advance(tile.rows * tile.cols * sizeof(T));
  });
  array->finish();
  return out;
}

Matrix<float> MatFile::read_columns(const std::string& name, ProgressObserver* progress, const MatrixPlace& place) {
  return read_numeric<float>(name, progress, place);
}

Matrix<double> MatFile::read_columns_double(const std::string& name) { return read_numeric<double>(name, nullptr, {}); }

std::vector<std::string> MatFile::read_strings(const std::string& name) {
  const auto array = open_array(name);
  std::uint64_t budget = mat::kSpareText + std::filesystem::file_size(name_);
  std::vector<std::string> out;
  std::map<std::uint64_t, std::size_t> known;
  if (array->kind == "char") {
    out = array->chars(budget);
  } else if (array->kind == "cell") {
    const std::uint64_t count = array->cells();
    if (count > budget / mat::kLeastOfString) mat::refuse(name_, name, "fewer cells", std::to_string(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t identity = array->identity_of_cell(i);
      if (const auto [same, added] = known.try_emplace(identity, out.size()); !added && identity != 0) {
        out.push_back(out[same->second]);
        if (out.back().size() > budget) mat::refuse(name_, name, "less text", "more in its cells");
        budget -= out.back().size();
        continue;
      }
      const std::string label = name + "{" + std::to_string(i + 1) + "}";
      const auto cell = array->cell(i, label);
      if (cell->kind != "char" && !cell->empty)
        mat::refuse(name_, label, "text", cell->kind, "make it a cell array of char vectors");
      auto rows = cell->empty ? std::vector<std::string>{} : cell->chars(budget);
      if (rows.size() > 1)
        mat::refuse(name_, label, "one line of text", mat::shape_text(cell->shape), "make it a row vector");
      out.push_back(rows.empty() ? std::string() : std::move(rows[0]));
      cell->finish();
    }
  } else {
    mat::refuse(name_, name, "a cell array of char vectors", array->kind,
                "check the variable's name, or save cellstr(x)");
  }
  array->finish();
  return out;
}

namespace mat {

void refuse(const std::string& file, std::string_view variable, std::string expected, std::string found,
            std::string_view advice) {
  throw Error(BadInput{file, std::string(variable), std::move(expected), std::move(found), std::string(advice)});
}

std::string shape_text(const std::vector<std::uint64_t>& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

bool is_numeric_kind(std::string_view kind) {
  static constexpr std::array<std::string_view, 12> kNumeric{
      "double", "single", "half", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "logical"};
  return std::ranges::find(kNumeric, kind) != kNumeric.end();
}

void read_in_tiles(std::uint64_t rows, std::uint64_t cols, std::size_t value_bytes,
                   const std::function<void(void*, std::size_t)>& read, const TakeTile& take) {
  const std::uint64_t fit = std::max<std::uint64_t>((256u << 10) / value_bytes, 1);
  const std::uint64_t wide = std::min(cols, fit), high = std::min(rows, wide < cols ? 1 : fit / wide);
  std::vector<unsigned char> buffer(high * wide * value_bytes);
  for (std::uint64_t r = 0; r < rows; r += high)
    for (std::uint64_t c = 0; c < cols; c += wide) {
      RawTile tile{r, c, std::min(high, rows - r), std::min(wide, cols - c), buffer.data()};
      tile.row_bytes = tile.cols * value_bytes;
      read(buffer.data(), tile.rows * tile.row_bytes);
      take(tile);
    }
}

// Text of MATLAB files: char arrays in their several encodings to UTF-8.

std::optional<std::u32string> decode_chars(CharCode code, std::endian order, std::span<const unsigned char> bytes) {
  if (code == CharCode::utf8) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::u32string out;
    for (std::size_t i = 0; i < text.size();) {
      const auto code_point = next_code_point(text, i);
      if (!code_point) return std::nullopt;
      out.push_back(*code_point);
    }
    return out;
  }
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
    const char32_t next = i + 1 < elements.size() ? elements[i + 1] : 0;
    if (c >= 0xd800 && c <= 0xdbff && next >= 0xdc00 && next <= 0xdfff)
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
    return std::vector{std::move(*text)};
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
