#pragma once
// Small device files for tests, made by the tables of the layout without the library's or the runtime's code. A file is
// made in two steps, so that a test can damage the parts before they are put together.

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/half.hpp"
#include "base/rng.hpp"
#include "device/device_reader.hpp"
#include "formats/file_kind.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets::test {

using Bytes = std::vector<std::byte>;

inline void put_u32(Bytes& bytes, std::size_t offset, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes[offset + i] = static_cast<std::byte>(value >> (8 * i));
}
inline void append_u32(Bytes& bytes, std::uint32_t value) {
  bytes.resize(bytes.size() + 4);
  put_u32(bytes, bytes.size() - 4, value);
}
inline void append_f32(Bytes& bytes, float value) { append_u32(bytes, std::bit_cast<std::uint32_t>(value)); }
inline void append_text(Bytes& bytes, const std::string& text) {
  for (std::size_t i = 0; i <= text.size(); ++i) bytes.push_back(static_cast<std::byte>(text.c_str()[i]));
}

/// Makes the size and the checksum of a file right again; files shorter than a header's first fields stay as they are.
inline void mend(Bytes& file) {
  if (file.size() < 20) return;
  put_u32(file, 12, static_cast<std::uint32_t>(file.size()));
  const auto* from = reinterpret_cast<const unsigned char*>(file.data() + 20);
  put_u32(file, 16, static_cast<std::uint32_t>(crc32(0, from, static_cast<uInt>(file.size() - 20))));
}

/// A field of the header.
struct HeaderField {
  const char* name;
  std::size_t offset, bytes;  ///< in the file; choices have 1 byte
  bool is_float;
  double least, most;
};

inline const std::vector<HeaderField>& header_fields() {
  static const auto fields = [] {
    std::vector<HeaderField> all;
    std::size_t at = PNRT_SIZES_AT;
    const auto add = [&](const char* name, std::size_t bytes, bool is_float, double least, double most) {
      all.push_back({name, at, bytes, is_float, least, most});
      at += bytes;
    };
#define ADD_SIZE(name, least, most, meaning) add(#name, 4, false, least, most);
#define ADD_NUMBER(name, least, most, meaning) add(#name, 4, true, least, most);
#define ADD_CHOICE(name, most, meaning) add(#name, 1, false, 0, most);
    PNRT_SIZES(ADD_SIZE)
    PNRT_NUMBERS(ADD_NUMBER)
    PNRT_CHOICES(ADD_CHOICE)
    return all;
  }();
  return fields;
}

inline const HeaderField& header_field(const std::string& name) {
  for (const auto& field : header_fields())
    if (field.name == name) return field;
  throw std::out_of_range(name);
}

inline constexpr const char* kSectionNames[] = {
#define SECTION_NAME(kind, name, rows, columns, present, meaning) #name,
    PNRT_SECTIONS(SECTION_NAME)};
inline constexpr const char* kSectionKinds[] = {
#define SECTION_KIND(kind, name, rows, columns, present, meaning) #kind,
    PNRT_SECTIONS(SECTION_KIND)};

/// What a file is to be like: fields of the header with their values and, without values, a type of all matrices
/// ("f16", "int8", "mixed"; else f32) and sections that may be missing. "optional" are all of those but `whitening`,
/// `rejection` and `span`.
struct DeviceKind {
  std::string name, words;
  DeviceHeader header{};
  std::set<std::string> flags;

  DeviceKind(std::string title, std::string text) : name(std::move(title)), words(std::move(text)) {
    std::istringstream in(
        "features 6 attributes 4 networks 1 open 1 basis 1 classes 3 gamma 0.25 temperature 0.5 width 1.5 "
        "example_prior 5 strength 20 sharpness 40 certainty 0.5 gamma_shift -0.125 least_length 0.01 " +
        words);
    for (std::string word; in >> word;)
      if (!set(word, in)) flags.insert(word);
    if (header.semantics == 0) header.semantics = header.attributes;
    if (header.outputs == 0) header.outputs = header.semantics;
  }

  bool has(const std::string& flag) const { return flags.contains(flag); }
  bool has_section(const std::string& section) const {
    const bool whitening = section == "whitening", rejection = section == "rejection" || section == "span";
    return has(whitening || rejection ? section : "optional");
  }

 private:
  bool set(const std::string& word, std::istream& in) {
#define SET_FIELD(field, ...)                                  \
  if (word == #field) {                                        \
    double value = 0;                                          \
    in >> value;                                               \
    header.field = static_cast<decltype(header.field)>(value); \
    return true;                                               \
  }
    PNRT_SIZES(SET_FIELD)
    PNRT_NUMBERS(SET_FIELD)
    PNRT_CHOICES(SET_FIELD)
    return false;
  }
};

inline const std::vector<DeviceKind>& device_kinds() {
  static const std::vector<DeviceKind> kinds{
      {"smallest", "features 1 attributes 1 classes 1"},
      {"always f32", "optional attribute_names"},
      {"always f16 dot", "f16 features 9 similarity 1"},
      {"always int8 euclidean", "int8 features 21 semantic_scaling 1 similarity 2 optional attribute_names"},
      {"energy f32 encoded",
       "features 7 encoding 6 networks 3 open 2 basis 3 feature_scaling 1 gates 1 sees_encoding 1"},
      {"energy int8 low rank", "int8 features 12 attributes 5 networks 4 open 2 basis 2 classes 5 gates 1 optional"},
      {"energy f16 low rank relu", "f16 features 10 encoding 8 networks 4 open 3 gates 1 similarity 1 relu 1"},
      {"anchor f32 whitened",
       "features 8 attributes 6 semantics 3 networks 3 basis 3 feature_scaling 2 semantic_scaling 2 gates 2 whitening "
       "attribute_names"},
      {"anchor int8 all parts",
       "int8 features 70 attributes 9 semantics 5 encoding 33 networks 3 open 2 basis 2 classes 6 feature_scaling 2 "
       "semantic_scaling 1 gates 2 sees_encoding 1 relu 1 optional whitening tables 2"},
      {"mixed all parts",
       "mixed features 17 attributes 7 semantics 6 encoding 9 networks 3 open 2 classes 5 feature_scaling 1 "
       "semantic_scaling 1 gates 2 sees_encoding 1 optional whitening attribute_names"},
      {"mixed dot seeing features",
       "mixed features 34 encoding 4 networks 2 open 2 basis 2 gates 1 similarity 1 relu 1 optional"},
      {"classes f32", "outputs 3 support 2 attribute_names"},
      {"classes int8 whitened",
       "int8 features 23 attributes 18 outputs 7 semantics 9 encoding 5 networks 3 open 2 basis 2 classes 5 support 4 "
       "feature_scaling 2 semantic_scaling 1 gates 2 sees_encoding 1 optional whitening attribute_names"},
      {"classes mixed linear kernel",
       "mixed features 11 attributes 5 outputs 6 semantics 2 networks 2 basis 2 classes 4 support 3 gates 2 width 0 "
       "optional whitening"},
      {"classes of three tables",
       "features 8 attributes 9 outputs 4 semantics 5 support 2 semantic_scaling 1 whitening tables 3"},
      {"rejection f32", "outputs 3 support 2 rejection"},
      {"rejection int8 span",
       "int8 features 18 attributes 11 outputs 9 semantics 4 encoding 6 networks 3 open 2 basis 2 classes 5 support 3 "
       "feature_scaling 2 semantic_scaling 1 gates 2 sees_encoding 1 optional whitening rejection span"},
      {"rejection mixed tables",
       "mixed features 8 attributes 9 outputs 4 semantics 5 support 2 semantic_scaling 1 whitening tables 2 rejection "
       "span"},
      {"source f32", "attribute_names source"},
      {"source int8 classes", "int8 features 13 outputs 3 support 2 optional source"},
      {"source rejection", "f16 outputs 5 support 2 rejection span source"}};
  return kinds;
}

inline const DeviceKind& kind_named(const std::string& name) {
  for (const auto& kind : device_kinds())
    if (kind.name == name) return kind;
  throw std::out_of_range(name);
}

/// What files with a source have.
inline FeatureSource file_source() {
  return {"n\xc3\xa9t.onnx",
          "00ff" + std::string(58, '7') + "a0",
          "features",
          {PixelPreset::caffe, ImageFit::whole, 320, 8192},
          512};
}

/// Copy of a vector (1 x n) or matrix as float32; empty if it is absent or consists of bytes. `info` is that of
/// `bytes`.
inline Matrix<float> device_matrix(std::span<const std::byte> bytes, const DeviceInfo& info, DevicePart part) {
  const auto& s = info.section(part);
  if (!s.present() || s.type == PNRT_BYTES) return {};
  const auto read = [&]<class T>(T value, std::size_t first, std::size_t i) {
    std::memcpy(&value, bytes.data() + first + i * sizeof value, sizeof value);
    return value;
  };
  Matrix<float> values(s.rows, s.cols);
  for (std::size_t i = 0; i < values.size(); ++i)
    values.data()[i] = s.type == PNRT_F32   ? read(0.0f, s.offset, i)
                       : s.type == PNRT_F16 ? half_to_float(read(std::uint16_t{0}, s.offset, i))
                                            : read(0.0f, s.scale_offset, i / s.cols) *
                                                  static_cast<float>(read(std::int8_t{0}, s.offset, i));
  return values;
}

struct DeviceFilePart {
  std::uint8_t type = PNRT_ABSENT;
  std::size_t rows = 1;
  Bytes scales, contents;     ///< as in the file
  std::vector<float> values;  ///< what a reader must find
};

struct DeviceFileParts {
  DeviceHeader header;
  std::array<DeviceFilePart, PNRT_SECTION_COUNT> sections;
  std::vector<std::string> class_names, attribute_names;
  std::vector<std::uint8_t> class_seen;

  DeviceFilePart& section(DevicePart part) { return sections[static_cast<std::size_t>(part)]; }
};

struct DeviceFile {
  Bytes bytes;
  std::array<std::size_t, PNRT_SECTION_COUNT> offset{}, scale_offset{}, end{};  ///< of values and scales; behind them

  std::size_t offset_of(DevicePart part) const { return offset[static_cast<std::size_t>(part)]; }
};

inline DeviceFile assemble(const DeviceFileParts& parts) {
  DeviceFile file;
  const auto append = [&](const Bytes& more) {
    file.bytes.insert(file.bytes.end(), more.begin(), more.end());
    const auto end = file.bytes.size();
    file.bytes.resize((end + 15) / 16 * 16);
    return end;
  };
  Bytes header;
  for (const char c : kDeviceMagic) header.push_back(static_cast<std::byte>(c));
  for (const std::uint32_t number : {8u, 0u, 0u}) append_u32(header, number);
#define PUT_SIZE(name, least, most, meaning) append_u32(header, parts.header.name);
#define PUT_NUMBER(name, least, most, meaning) append_f32(header, parts.header.name);
#define PUT_CHOICE(name, most, meaning) header.push_back(static_cast<std::byte>(parts.header.name));
  PNRT_SIZES(PUT_SIZE)
  PNRT_NUMBERS(PUT_NUMBER)
  PNRT_CHOICES(PUT_CHOICE)
  for (const auto& part : parts.sections) header.push_back(static_cast<std::byte>(part.type));
  append(header);
  for (std::size_t i = 0; i < parts.sections.size(); ++i) {
    const auto& part = parts.sections[i];
    if (part.type == PNRT_ABSENT) continue;
    file.scale_offset[i] = file.bytes.size();
    if (part.type == PNRT_I8) append(part.scales);
    file.offset[i] = file.bytes.size();
    file.end[i] = append(part.contents);
  }
  mend(file.bytes);
  return file;
}

class DeviceFileMaker {
 public:
  DeviceFileMaker(const DeviceKind& kind, std::uint64_t seed) : kind_(kind), rng_(seed) { parts_.header = kind.header; }

  DeviceFileParts make() {
    make_names();
    if (kind_.has("source")) make_source();
    constexpr int MUST = 1, MAY = 2;
    PNRT_SYMBOLS(&parts_.header);
#define MAY_IF(condition) MAY
#define HAS(section) kind_.has_section(#section)
#define MAKE_SECTION(kind, name, rows, columns, present, meaning) \
  if (wanted(#name, present)) fill_##kind(DevicePart::name, rows, columns);
    PNRT_SECTIONS(MAKE_SECTION)
#undef MAY_IF
#undef HAS
#undef MAKE_SECTION
    return std::move(parts_);
  }

 private:
  DeviceFilePart& section(DevicePart part) { return parts_.section(part); }
  bool wanted(const char* name, int present) const { return present == 2 ? kind_.has_section(name) : present == 1; }

  void make_names() {
    auto& h = parts_.header;
    for (std::uint32_t i = 0; i < h.classes; ++i) {
      // Not in the order of the alphabet; one name begins another, one has a byte above 127.
      parts_.class_names.push_back(i == 1 ? "wolf\xc3\xa9" : i == 2 ? "wolf" : std::string(1 + i % 3, 'z') + "ebra");
      parts_.class_seen.push_back(i % 2);
      if (i > 2) parts_.class_names.back() += std::to_string(i);
      section(DevicePart::class_seen).contents.push_back(static_cast<std::byte>(i % 2));
      append_u32(section(DevicePart::class_name_offsets).contents,
                 static_cast<std::uint32_t>(section(DevicePart::class_names).contents.size()));
      append_text(section(DevicePart::class_names).contents, parts_.class_names.back());
    }
    std::vector<std::uint16_t> order(h.classes);
    std::iota(order.begin(), order.end(), std::uint16_t{0});
    std::ranges::sort(order, {}, [&](auto c) { return parts_.class_names[c]; });  // std::string compares bytes
    for (const auto index : order)
      for (const int shift : {0, 8})
        section(DevicePart::class_order).contents.push_back(static_cast<std::byte>(index >> shift));
    for (std::uint32_t j = 0; kind_.has("attribute_names") && j < h.attributes; ++j) {
      parts_.attribute_names.push_back(j % 2 == 1 ? "x" : "has" + std::to_string(j));
      append_text(section(DevicePart::attribute_names).contents, parts_.attribute_names.back());
    }
    for (std::uint32_t t = 0; t < h.tables; ++t)
      append_u32(section(DevicePart::table_attributes).contents, t == 0 ? h.attributes - h.tables + 1 : 1);
    h.class_name_bytes = static_cast<std::uint32_t>(section(DevicePart::class_names).contents.size());
    h.attribute_name_bytes = static_cast<std::uint32_t>(section(DevicePart::attribute_names).contents.size());
  }

  void make_source() {
    const FeatureSource source = file_source();
    auto& contents = section(DevicePart::source).contents;
    for (std::size_t i = 0; i < 64; i += 2)
      contents.push_back(static_cast<std::byte>(std::stoul(source.sha256.substr(i, 2), nullptr, 16)));
    append_text(contents, source.layer);
    append_text(contents, source.backbone);
    auto& h = parts_.header;
    h.source_bytes = static_cast<std::uint32_t>(contents.size());
    h.source_dimensions = static_cast<std::uint32_t>(source.dimensions);
    h.source_width = static_cast<std::uint32_t>(source.input.width);
    h.source_height = static_cast<std::uint32_t>(source.input.height);
    h.source_preset = h.source_fit = 1;
  }

  /// Normally distributed values, but for those with bounds.
  void fill_VECTOR(DevicePart number, std::uint64_t, std::uint64_t size) {
    auto& part = section(number);
    part.type = PNRT_F32;
    const double most = number == DevicePart::class_lengths ? 2 : number == DevicePart::class_predicted ? 1 : 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      part.values.push_back(static_cast<float>(most > 0 ? most * rng_.uniform() : rng_.normal()));
      // Of rejection, a range that holds about half of all evidence.
      if (number == DevicePart::rejection && i >= 14 && i < 26)
        part.values.back() = i < 20 ? -5 : 1 + 30 * std::fabs(part.values.back());
      append_f32(part.contents, part.values.back());
    }
  }

  void fill_MATRIX(DevicePart number, std::uint64_t rows, std::uint64_t cols) {
    auto& part = section(number);
    part.type = static_cast<std::uint8_t>(kind_.has("int8") ? PNRT_I8 : kind_.has("f16") ? PNRT_F16 : PNRT_F32);
    if (kind_.has("mixed")) part.type = static_cast<std::uint8_t>(1 + (turn_++ % 3));
    part.rows = rows;
    const bool unit_rows = number == DevicePart::class_vectors && kind_.header.similarity == 0;
    for (std::uint64_t r = 0; r < rows; ++r) {
      std::vector<float> row(cols);
      float square = 0, largest = 0;
      for (auto& v : row) {
        v = static_cast<float>(rng_.normal());
        square += v * v;
      }
      for (auto& v : row) {
        if (unit_rows) v /= std::sqrt(square);
        largest = std::max(largest, std::fabs(v));
      }
      const float scale = largest / 127;
      if (part.type == PNRT_I8) append_f32(part.scales, scale);
      for (const float v : row) add_value(part, v, scale);
    }
  }

  static void add_value(DeviceFilePart& part, float v, float scale) {
    if (part.type == PNRT_F32) {
      append_f32(part.contents, v);
      part.values.push_back(v);
    } else if (part.type == PNRT_F16) {
      const auto half = float_to_half(v);
      part.contents.push_back(static_cast<std::byte>(half));
      part.contents.push_back(static_cast<std::byte>(half >> 8));
      part.values.push_back(half_to_float(half));
    } else {
      const auto byte = static_cast<std::int8_t>(std::lround(v / scale));
      part.contents.push_back(static_cast<std::byte>(byte));
      part.values.push_back(scale * static_cast<float>(byte));
    }
  }

  /// Bytes were made before.
  void fill_U8(DevicePart number, std::uint64_t, std::uint64_t) { section(number).type = PNRT_BYTES; }
  void fill_U16(DevicePart number, std::uint64_t, std::uint64_t) { section(number).type = PNRT_BYTES; }
  void fill_U32(DevicePart number, std::uint64_t, std::uint64_t) { section(number).type = PNRT_BYTES; }
  void fill_TEXT(DevicePart number, std::uint64_t, std::uint64_t) { section(number).type = PNRT_BYTES; }

  const DeviceKind& kind_;
  Rng rng_;
  unsigned turn_ = 0;
  DeviceFileParts parts_;
};

inline DeviceFileParts make_device_file(const DeviceKind& kind, std::uint64_t seed = 1) {
  return DeviceFileMaker(kind, seed).make();
}

}  // namespace parsnets::test
