// MATLAB files: telling the versions apart, and what both have in common.

#include "mat_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets::mat {

namespace {

constexpr std::array<unsigned char, 8> kHdf5Signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

// HDF5 puts its signature at byte 0 or after a user block of 512, 1024, 2048, … bytes.
bool has_hdf5_signature(decode::Input& file) {
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

std::unique_ptr<Reader> open(decode::Input& file) {
  std::array<unsigned char, 128> header{};
  file.read(header.data(), std::min<std::uint64_t>(header.size(), file.size()), "header");
  const bool little = header[126] == 'I' && header[127] == 'M';
  const bool big = header[126] == 'M' && header[127] == 'I';
  const unsigned major = little ? header[125] : big ? header[124] : 0;
  if (major == 1) return open_v5(file);
  if (has_hdf5_signature(file)) return open_v73(file);
  if (major == 2) refuse("header", "HDF5 data after a MATLAB 7.3 header", "none");
  const bool v4 = file.size() >= 20 && std::memchr(header.data(), 0, 4) != nullptr && header[0] < 60 && header[1] < 60;
  refuse("header", "a MATLAB file of version 5 or 7.3", v4 ? "what appears to be version 4" : "something else",
         v4 ? "save it again in MATLAB with save -v7" : "check that this is the right file and that it is complete");
}

template <class T>
void read_columns(Reader& file, std::size_t index, const Sink<T>& sink) {
  const std::string& name = file.variables.at(index).name;
  const auto array = file.open_array(index);
  if (!is_numeric_kind(array->kind)) refuse(name, "a numeric array", array->kind, kind_advice(array->kind));
  if (array->complex) refuse(name, "real values", "complex values", "save real(x) or abs(x) instead");
  if (array->shape.size() != 2)
    refuse(name, "a matrix of 2 dimensions", shape_text(array->shape), "reshape it before saving");
  array->start();
  sink.start(array->shape[1], array->shape[0]);
  if (array->shape[0] == 0 || array->shape[1] == 0) return;
  std::vector<T> values;
  array->read([&](const RawTile& tile) {
    const std::uint64_t high = std::max<std::uint64_t>(1, (std::uint64_t{256} << 10) / sizeof(T) / tile.cols);
    for (std::uint64_t first = 0; first < tile.rows; first += high) {
      const std::uint64_t rows = std::min(high, tile.rows - first);
      values.resize(rows * tile.cols);
      for (std::uint64_t r = 0; r < rows; ++r)
        convert_values(array->type, array->order, tile.data + (first + r) * tile.row_bytes, tile.cols,
                       values.data() + r * tile.cols);
      sink.take(tile.row + first, tile.col, rows, tile.cols, values.data());
    }
  });
  array->finish();
}

template void read_columns(Reader& file, std::size_t index, const Sink<float>& sink);
template void read_columns(Reader& file, std::size_t index, const Sink<double>& sink);

std::vector<std::string> read_strings(Reader& file, std::size_t index) {
  const std::string& name = file.variables.at(index).name;
  const auto array = file.open_array(index);
  std::vector<std::string> out;
  if (array->kind == "char") {
    out = array->chars();
  } else if (array->kind == "cell") {
    const std::uint64_t count = array->cells();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string label = name + "{" + std::to_string(i + 1) + "}";
      const auto cell = array->cell(i, label);
      if (cell->kind != "char" && !cell->empty)
        refuse(label, "text", cell->kind, "make it a cell array of char vectors");
      auto rows = cell->empty ? std::vector<std::string>{} : cell->chars();
      if (rows.size() > 1) refuse(label, "one line of text", shape_text(cell->shape), "make it a row vector");
      out.push_back(rows.empty() ? std::string() : std::move(rows[0]));
      cell->finish();
    }
  } else {
    refuse(name, "a cell array of char vectors", array->kind, "check the variable's name, or save cellstr(x)");
  }
  array->finish();
  return out;
}

void refuse(std::string_view variable, std::string expected, std::string found, std::string_view advice) {
  throw Error(BadInput{"", std::string(variable), std::move(expected), std::move(found), std::string(advice)});
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

}  // namespace parsnets::mat
