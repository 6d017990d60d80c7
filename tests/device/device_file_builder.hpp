#pragma once
// Small device files for tests, written from docs/device.md without the library's or the runtime's code. A file is
// made in two steps, so that a test can damage the parts before they are put together.

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/half.hpp"
#include "base/rng.hpp"

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

/// Makes the size and the checksum of a file right again; files shorter than a header's first fields stay as they are.
inline void mend(Bytes& file) {
  if (file.size() < 20) return;
  put_u32(file, 12, static_cast<std::uint32_t>(file.size()));
  const auto* from = reinterpret_cast<const unsigned char*>(file.data() + 20);
  put_u32(file, 16, static_cast<std::uint32_t>(crc32(0, from, static_cast<uInt>(file.size() - 20))));
}

/// What a file is to be like; the header's numbers.
struct DeviceKind {
  const char* name;
  std::uint8_t type = 1;  ///< of all matrices: 1 f32, 2 f16, 3 int8; 0: they take turns
  std::uint32_t features = 6, attributes = 4, outputs = 4, encoding = 0;
  std::uint32_t networks = 1, open = 1, stored = 1, classes = 3, support = 0;
  std::uint8_t feature_scaling = 0, semantic_scaling = 0, gates = 0, similarity = 0;
  std::uint32_t bits = 0;
  bool optional_parts = false;  ///< means, factors, centre, shared network
  bool whitening = false, attribute_names = false;
  std::uint32_t semantics = 0;  ///< 0: version 1, in which they are as many as the outputs
  float width = 1.5f;
  std::vector<std::uint32_t> tables = {};          ///< attributes of each table; none: one table
  float head_weight = 0;                           ///< of the semantic head; since version 2
  std::array<float, 4> field = {5, 20, 40, 0.5f};  ///< example prior, strength, sharpness, certainty; since version 2
  bool rejection = false, span = false;            ///< version 3; span: of the linear map
  bool source = false;                             ///< versions 4 to 6: what made the features

  bool placed() const { return semantics > 0; }                               ///< since version 2, targets classes
  std::uint32_t version() const { return rejection ? 3 : placed() ? 2 : 1; }  ///< without a source
  std::uint32_t class_outputs() const { return head_weight > 0 ? outputs - semantics : outputs; }
  std::uint32_t prepared() const { return placed() ? semantics : outputs; }
};

inline std::vector<DeviceKind> device_kinds() {
  return {
      {.name = "smallest", .features = 1, .attributes = 1, .outputs = 1, .classes = 1},
      {.name = "always f32", .optional_parts = true, .attribute_names = true},
      {.name = "always f16 dot", .type = 2, .features = 9, .similarity = 1},
      {.name = "always int8 euclidean",
       .type = 3,
       .features = 21,
       .semantic_scaling = 1,
       .similarity = 2,
       .optional_parts = true,
       .attribute_names = true},
      {.name = "energy f32 encoded",
       .features = 7,
       .encoding = 6,
       .networks = 3,
       .open = 2,
       .stored = 3,
       .feature_scaling = 1,
       .gates = 1,
       .bits = 1},
      {.name = "energy int8 low rank",
       .type = 3,
       .features = 12,
       .attributes = 5,
       .outputs = 5,
       .networks = 4,
       .open = 2,
       .stored = 2,
       .classes = 5,
       .gates = 1,
       .optional_parts = true},
      {.name = "energy f16 low rank relu",
       .type = 2,
       .features = 10,
       .encoding = 8,
       .networks = 4,
       .open = 3,
       .stored = 1,
       .gates = 1,
       .similarity = 1,
       .bits = 2},
      {.name = "anchor f32 whitened",
       .features = 8,
       .attributes = 6,
       .outputs = 3,
       .networks = 3,
       .open = 1,
       .stored = 3,
       .feature_scaling = 2,
       .semantic_scaling = 2,
       .gates = 2,
       .whitening = true,
       .attribute_names = true},
      {.name = "anchor int8 prototypes",
       .type = 3,
       .features = 37,
       .attributes = 19,
       .outputs = 19,
       .encoding = 18,
       .networks = 3,
       .open = 2,
       .stored = 2,
       .classes = 4,
       .support = 3,
       .feature_scaling = 2,
       .semantic_scaling = 1,
       .gates = 2,
       .bits = 3,
       .optional_parts = true,
       .attribute_names = true},
      {.name = "anchor int8 all parts",
       .type = 3,
       .features = 70,
       .attributes = 9,
       .outputs = 5,
       .encoding = 33,
       .networks = 2,
       .open = 1,
       .stored = 2,
       .classes = 6,
       .support = 2,
       .gates = 2,
       .bits = 1,
       .optional_parts = true,
       .whitening = true},
      {.name = "mixed all parts",
       .type = 0,
       .features = 17,
       .attributes = 7,
       .outputs = 6,
       .encoding = 9,
       .networks = 3,
       .open = 2,
       .stored = 1,
       .classes = 5,
       .support = 4,
       .feature_scaling = 1,
       .semantic_scaling = 1,
       .gates = 2,
       .bits = 1,
       .optional_parts = true,
       .whitening = true,
       .attribute_names = true},
      {.name = "mixed dot seeing features",
       .type = 0,
       .features = 34,
       .encoding = 4,
       .networks = 2,
       .open = 2,
       .stored = 2,
       .gates = 1,
       .similarity = 1,
       .bits = 2,
       .optional_parts = true},
      {.name = "classes f32", .outputs = 3, .support = 2, .attribute_names = true, .semantics = 4},
      {.name = "classes int8 whitened",
       .type = 3,
       .features = 23,
       .attributes = 18,
       .outputs = 7,
       .encoding = 5,
       .networks = 3,
       .open = 2,
       .stored = 2,
       .classes = 5,
       .support = 4,
       .feature_scaling = 2,
       .semantic_scaling = 1,
       .gates = 2,
       .bits = 1,
       .optional_parts = true,
       .whitening = true,
       .attribute_names = true,
       .semantics = 9},
      {.name = "classes mixed linear kernel",
       .type = 0,
       .features = 11,
       .attributes = 5,
       .outputs = 6,
       .networks = 2,
       .open = 1,
       .stored = 2,
       .classes = 4,
       .support = 3,
       .gates = 2,
       .optional_parts = true,
       .whitening = true,
       .semantics = 2,
       .width = 0},
      {.name = "two heads f32", .outputs = 9, .support = 2, .semantics = 4, .head_weight = 0.5f},
      {.name = "two heads int8 whitened",
       .type = 3,
       .features = 19,
       .attributes = 12,
       .outputs = 11,
       .encoding = 6,
       .networks = 3,
       .open = 2,
       .stored = 2,
       .classes = 5,
       .support = 3,
       .feature_scaling = 2,
       .semantic_scaling = 1,
       .gates = 2,
       .bits = 1,
       .optional_parts = true,
       .whitening = true,
       .semantics = 5,
       .head_weight = 2},
      {.name = "classes of three tables",
       .features = 8,
       .attributes = 9,
       .outputs = 4,
       .support = 2,
       .semantic_scaling = 1,
       .whitening = true,
       .semantics = 5,
       .tables = {4, 1, 4}},
      {.name = "rejection f32", .outputs = 3, .support = 2, .semantics = 4, .rejection = true},
      {.name = "rejection int8 heads",
       .type = 3,
       .features = 18,
       .attributes = 11,
       .outputs = 9,
       .encoding = 6,
       .networks = 3,
       .open = 2,
       .stored = 2,
       .classes = 5,
       .support = 3,
       .feature_scaling = 2,
       .semantic_scaling = 1,
       .gates = 2,
       .bits = 1,
       .optional_parts = true,
       .whitening = true,
       .semantics = 4,
       .head_weight = 0.7f,
       .rejection = true,
       .span = true},
      {.name = "rejection mixed tables",
       .type = 0,
       .features = 8,
       .attributes = 9,
       .outputs = 4,
       .support = 2,
       .semantic_scaling = 1,
       .whitening = true,
       .semantics = 5,
       .tables = {4, 5},
       .rejection = true,
       .span = true},
      {.name = "source f32", .attribute_names = true, .source = true},
      {.name = "source int8 classes",
       .type = 3,
       .features = 13,
       .outputs = 3,
       .support = 2,
       .optional_parts = true,
       .semantics = 4,
       .source = true},
      {.name = "source rejection",
       .type = 2,
       .outputs = 5,
       .support = 2,
       .semantics = 4,
       .head_weight = 0.5f,
       .rejection = true,
       .span = true,
       .source = true},
  };
}

struct DeviceFilePart {
  std::uint8_t type = 0;
  std::size_t rows = 1;
  Bytes scales, contents;     ///< as in the file
  std::vector<float> values;  ///< what a reader must find
};

struct DeviceFileParts {
  Bytes header = Bytes(112);
  std::array<DeviceFilePart, 32> sections;
  std::vector<std::string> class_names, attribute_names;
  std::vector<std::uint8_t> class_seen;

  bool has_source() const { return header[8] > std::byte{3}; }
  /// Sections of the version without a source, which is the one behind them.
  std::size_t counted() const {
    const std::size_t counts[] = {23, 28, 31};  // of versions 1 to 3
    return counts[std::to_integer<std::size_t>(header[8]) - (has_source() ? 4 : 1)];
  }
  bool has_type(std::size_t section) const { return section < counted() || (section == 31 && has_source()); }
  /// Where the file has the type of a section.
  std::size_t type_at(std::size_t section) const { return 88 + std::min(section, counted()); }
};

/// Of files with a source: `sha256` has 64 digits.
struct DeviceFileSource {
  std::string sha256 = "00ff" + std::string(58, '7') + "a0", layer = "features", backbone = "n\xc3\xa9t.onnx";
  std::uint32_t dimensions = 512;
  std::uint16_t width = 320, height = 8192;
  std::uint8_t preset = 1, fit = 1;
};

struct DeviceFile {
  Bytes bytes;
  std::array<std::size_t, 32> offset{}, scale_offset{}, end{};  ///< of values and scales; behind the values
};

inline DeviceFile assemble(const DeviceFileParts& parts) {
  DeviceFile file{parts.header};
  const auto append = [&](const Bytes& more) {
    file.bytes.insert(file.bytes.end(), more.begin(), more.end());
    const auto end = file.bytes.size();
    file.bytes.resize((end + 15) / 16 * 16);
    return end;
  };
  for (std::size_t i = 0; i < parts.sections.size(); ++i) {
    const auto& part = parts.sections[i];
    if (!parts.has_type(i)) continue;
    file.bytes[parts.type_at(i)] = static_cast<std::byte>(part.type);
    if (part.type == 0) continue;
    file.scale_offset[i] = file.bytes.size();
    if (part.type == 3) append(part.scales);
    file.offset[i] = file.bytes.size();
    file.end[i] = append(part.contents);
  }
  mend(file.bytes);
  return file;
}

class DeviceFileMaker {
 public:
  DeviceFileMaker(const DeviceKind& kind, std::uint64_t seed) : kind_(kind), rng_(seed) {}

  DeviceFileParts make() {
    const auto& k = kind_;
    make_header();
    const auto e = k.encoding > 0 ? k.encoding : k.features;
    const auto z = k.encoding > 0 && (k.bits & 1) != 0 ? k.encoding : k.features;
    if (k.optional_parts) {
      add_vector(0, k.features);
      add_vector(1, k.features);
    }
    if (k.encoding > 0) add_matrix(2, k.encoding, k.features);
    if (k.gates == 2) add_matrix(3, k.networks, e);
    add_matrix(4, k.stored * k.outputs, z);
    add_vector(5, k.stored * k.outputs);
    if (k.stored < k.networks) add_vector(6, k.networks * k.stored);
    if (k.optional_parts) add_matrix(7, k.outputs, k.features);
    add_vector(8, k.outputs);
    if (k.optional_parts) {
      add_vector(9, k.attributes);
      add_vector(10, k.attributes);
    }
    if (k.whitening) {
      add_vector(11, k.attributes);
      add_matrix(12, k.prepared(), k.attributes);
    }
    if (k.optional_parts) add_vector(13, k.outputs);
    if (k.support > 0) {
      add_matrix(14, k.support, k.prepared());
      add_matrix(15, k.outputs, k.support);
    }
    add_matrix(16, k.classes, k.outputs, k.similarity == 0);
    add_matrix(17, k.classes, k.attributes);
    add_classes();
    if (k.placed()) {
      add_matrix(23, k.attributes, k.class_outputs());
      add_vector(24, k.attributes);
      add_vector(25, k.classes, 2);
      add_vector(26, k.classes, 1);
    }
    for (const std::uint32_t attributes : k.tables) append_u32(parts_.sections[27].contents, attributes);
    if (!k.tables.empty()) parts_.sections[27].type = 4;
    if (k.rejection) add_rejection();
    if (k.span) {
      add_matrix(29, k.class_outputs(), k.class_outputs());
      add_vector(30, k.class_outputs());
    }
    if (k.source) add_source();
    return std::move(parts_);
  }

 private:
  void make_header() {
    auto& header = parts_.header;
    std::transform(kMagic.begin(), kMagic.end(), header.begin(), [](char c) { return static_cast<std::byte>(c); });
    const auto& k = kind_;
    if (k.placed()) {
      header.resize(144);
      put_u32(header, 124, std::bit_cast<std::uint32_t>(k.head_weight));
      for (std::size_t i = 0; i < 4; ++i) put_u32(header, 128 + 4 * i, std::bit_cast<std::uint32_t>(k.field[i]));
    }
    put_u32(header, 8, k.version() + (k.source ? 3 : 0));
    put_u32(header, 84, k.semantics);
    if (k.placed()) put_u32(header, 120, static_cast<std::uint32_t>(k.tables.size()));
    const std::uint32_t numbers[] = {k.features, k.attributes, k.outputs, k.encoding, k.networks,
                                     k.open,     k.stored,     k.classes, k.support};
    for (std::size_t i = 0; i < std::size(numbers); ++i) put_u32(header, 20 + 4 * i, numbers[i]);
    const std::uint8_t choices[] = {k.feature_scaling, k.semantic_scaling, k.gates, k.similarity};
    for (std::size_t i = 0; i < std::size(choices); ++i) header[64 + i] = static_cast<std::byte>(choices[i]);
    put_u32(header, 68, k.bits);
    put_u32(header, 72, std::bit_cast<std::uint32_t>(0.25f));
    put_u32(header, 76, std::bit_cast<std::uint32_t>(0.5f));
    put_u32(header, 80, std::bit_cast<std::uint32_t>(k.width));
  }

  /// Normally distributed values, or values from 0 to `most`.
  void add_vector(std::size_t number, std::uint32_t size, double most = 0) {
    auto& part = parts_.sections[number];
    part.type = 1;
    for (std::uint32_t i = 0; i < size; ++i) {
      part.values.push_back(static_cast<float>(most > 0 ? most * rng_.uniform() : rng_.normal()));
      append_f32(part.contents, part.values.back());
    }
  }

  /// Weights, a range that holds about half of all evidence, thresholds.
  void add_rejection() {
    add_vector(28, 28);
    auto& part = parts_.sections[28];
    for (std::size_t i = 14; i < 20; ++i) {
      part.values[i] = -5;
      part.values[i + 6] = 1 + 30 * std::fabs(part.values[i + 6]);
    }
    part.contents.clear();
    for (const float v : part.values) append_f32(part.contents, v);
  }

  void add_source() {
    const DeviceFileSource source;
    auto& part = parts_.sections[31];
    part.type = 4;
    for (std::size_t i = 0; i < 64; i += 2)
      part.contents.push_back(static_cast<std::byte>(std::stoi(source.sha256.substr(i, 2), nullptr, 16)));
    for (const auto& text : {source.layer, source.backbone}) {
      for (const char c : text) part.contents.push_back(static_cast<std::byte>(c));
      part.contents.push_back(std::byte{0});
    }
    auto& header = parts_.header;
    append_u32(header, static_cast<std::uint32_t>(part.contents.size()));
    append_u32(header, source.dimensions);
    append_u32(header, source.width | static_cast<std::uint32_t>(source.height) << 16);
    append_u32(header, source.preset | static_cast<std::uint32_t>(source.fit) << 8);
  }

  void add_matrix(std::size_t number, std::uint32_t rows, std::uint32_t cols, bool unit_rows = false) {
    auto& part = parts_.sections[number];
    part.type = kind_.type != 0 ? kind_.type : static_cast<std::uint8_t>(1 + (turn_++ % 3));
    part.rows = rows;
    for (std::uint32_t r = 0; r < rows; ++r) {
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
      if (part.type == 3) append_f32(part.scales, scale);
      for (const float v : row) add_value(part, v, scale);
    }
  }

  static void add_value(DeviceFilePart& part, float v, float scale) {
    if (part.type == 1) {
      append_f32(part.contents, v);
      part.values.push_back(v);
    } else if (part.type == 2) {
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

  void add_classes() {
    const auto& k = kind_;
    for (std::size_t i = 18; i < 22; ++i) parts_.sections[i].type = 4;
    for (std::uint32_t i = 0; i < k.classes; ++i) {
      // Not in the order of the alphabet; one name begins another, one has a byte above 127.
      parts_.class_names.push_back(i == 1 ? "wolf\xc3\xa9" : i == 2 ? "wolf" : std::string(1 + i % 3, 'z') + "ebra");
      parts_.class_seen.push_back(i % 2);
      if (i > 2) parts_.class_names.back() += std::to_string(i);
      parts_.sections[18].contents.push_back(static_cast<std::byte>(i % 2));
    }
    std::vector<std::uint16_t> order(k.classes);
    std::iota(order.begin(), order.end(), std::uint16_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      const auto &x = parts_.class_names[a], &y = parts_.class_names[b];
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(),
                                          [](unsigned char p, unsigned char q) { return p < q; });
    });
    for (const auto index : order) {
      parts_.sections[19].contents.push_back(static_cast<std::byte>(index));
      parts_.sections[19].contents.push_back(static_cast<std::byte>(index >> 8));
    }
    if (k.attribute_names) {
      parts_.sections[22].type = 4;
      for (std::uint32_t j = 0; j < k.attributes; ++j)
        parts_.attribute_names.push_back(j % 2 == 1 ? "x" : "has" + std::to_string(j));
    }
    std::uint32_t begin = 0;
    for (const auto& name : parts_.class_names) {
      append_u32(parts_.sections[20].contents, begin);
      begin += static_cast<std::uint32_t>(name.size()) + 1;
    }
    add_names(21, parts_.class_names, 56);
    add_names(22, parts_.attribute_names, 60);
  }

  void add_names(std::size_t number, const std::vector<std::string>& names, std::size_t length_at) {
    auto& contents = parts_.sections[number].contents;
    for (const auto& name : names) {
      for (const char c : name) contents.push_back(static_cast<std::byte>(c));
      contents.push_back(std::byte{0});
    }
    put_u32(parts_.header, length_at, static_cast<std::uint32_t>(contents.size()));
  }

  static constexpr std::string_view kMagic = "PARSNETS";
  DeviceKind kind_;
  Rng rng_;
  unsigned turn_ = 0;
  DeviceFileParts parts_;
};

inline DeviceFileParts make_device_file(const DeviceKind& kind, std::uint64_t seed = 1) {
  return DeviceFileMaker(kind, seed).make();
}

}  // namespace parsnets::test
