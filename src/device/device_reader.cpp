#include "device/device_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kTypesAt = 88, kTablesAt = 120, kAlignment = 16;
constexpr std::uint32_t kMany = 65536, kU16 = 65535, kLargestFile = 0x7fffffff;
constexpr std::uint8_t kF32 = 1, kF16 = 2, kInt8 = 3, kBytes = 4;
constexpr const char* kDamaged = "the file is damaged: export the model again";

std::uint16_t u16_at(const std::byte* p) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(p[0]) | std::to_integer<unsigned>(p[1]) << 8);
}
std::uint32_t u32_at(const std::byte* p) { return u16_at(p) | static_cast<std::uint32_t>(u16_at(p + 2)) << 16; }
float f32_at(const std::byte* p) { return std::bit_cast<float>(u32_at(p)); }

enum class Kind { vector, matrix, bytes };
enum class Need { may, must, must_not };

struct Rule {
  const char* name;
  Kind kind;
  std::uint64_t rows, cols;
  Need need;
};

/// Checks one file from front to back.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  DeviceInfo read() {
    check_envelope();
    read_header();
    place_sections();
    for (const auto& s : info_.sections) check_values(s);
    check_range(DevicePart::class_lengths, std::numeric_limits<float>::max(), "lengths, none negative");
    check_range(DevicePart::class_predicted, 1, "weights from 0 to 1");
    check_rejection();
    read_tables();
    read_classes();
    read_source();
    return std::move(info_);
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& expected, const std::string& found,
                         const std::string& advice = kDamaged) const {
    throw Error(BadInput{name_, field, expected, found, advice});
  }

  std::uint32_t number(std::size_t offset, const char* field, std::uint32_t low, std::uint32_t high) const {
    const std::uint32_t value = u32_at(bytes_.data() + offset);
    if (value < low || value > high)
      fail(field, low == high ? std::to_string(low) : fmt::format("{} to {}", low, high), std::to_string(value));
    return value;
  }

  float real(std::size_t offset, const char* field, float low, float high) const {
    const float value = f32_at(bytes_.data() + offset);
    if (!(value >= low && value <= high)) fail(field, fmt::format("{} to {}", low, high), fmt::format("{}", value));
    return value;
  }

  float positive(std::size_t offset, const char* field, float high) const {
    const float value = f32_at(bytes_.data() + offset);
    if (!(value > 0 && value <= high)) fail(field, fmt::format("above 0, up to {}", high), fmt::format("{}", value));
    return value;
  }

  std::uint8_t choice(std::size_t offset, const char* field, unsigned last) const {
    const auto value = std::to_integer<std::uint8_t>(bytes_[offset]);
    if (value > last) fail(field, fmt::format("0 to {}", last), std::to_string(value));
    return value;
  }

  void check_zero(std::size_t from, std::size_t to, const std::string& field) const {
    for (std::size_t i = from; i < to; ++i)
      if (bytes_[i] != std::byte{0})
        fail(field, "zero bytes", fmt::format("{} at offset {}", std::to_integer<int>(bytes_[i]), i));
  }

  /// Of the version without a source.
  std::size_t header_bytes() const { return info_.class_targets ? kDeviceHeaderBytes : kDeviceHeaderBytes1; }
  std::size_t parts() const {
    return info_.version == 3 ? kDeviceParts3 : info_.version == 2 ? kDeviceParts2 : kDeviceParts1;
  }
  std::size_t first_section() const { return header_bytes() + (has_source_ ? kDeviceSourceHeaderBytes : 0); }

  void check_envelope() {
    if (!looks_like_device_file(bytes_))
      fail("magic", fmt::format("'{}'", kDeviceMagic), "something else", "this is not a device file");
    if (bytes_.size() < kDeviceHeaderBytes1)
      fail("header", fmt::format("{} bytes", kDeviceHeaderBytes1), std::to_string(bytes_.size()),
           "the file is truncated: copy it again");
    info_.version = u32_at(&bytes_[8]);
    if (info_.version < 1 || info_.version > 2 * kDeviceVersions)
      fail("format version", fmt::format("1 to {}", 2 * kDeviceVersions), std::to_string(info_.version),
           "it was written for another version of ParsNets: export the model again");
    has_source_ = info_.version > kDeviceVersions;
    if (has_source_) info_.version -= kDeviceVersions;
    info_.class_targets = info_.version > 1;
    if (const auto size = number(12, "bytes of the file", static_cast<std::uint32_t>(first_section()), kLargestFile);
        size != bytes_.size())
      fail("bytes of the file", fmt::format("{}, the size of the file", bytes_.size()), std::to_string(size),
           "the file is truncated or has extra bytes: copy it again");
    const auto sum = crc32_z(0, reinterpret_cast<const unsigned char*>(&bytes_[20]), bytes_.size() - 20);
    if (const auto stored = u32_at(&bytes_[16]); stored != sum)
      fail("CRC-32", fmt::format("{:08x}, that of the contents", sum), fmt::format("{:08x}", stored));
  }

  void read_header() {
    auto& f = info_;
    f.features = number(20, "features", 1, kMany);
    f.attributes = number(24, "attributes", 1, kMany);
    f.outputs = number(28, "outputs", 1, kMany);
    f.encoding = number(32, "encoding", 0, kMany);
    f.networks = number(36, "networks", 1, kU16);
    f.open = number(40, "open networks", 1, f.networks);
    f.stored_networks = number(44, "stored networks", 1, f.networks);
    f.classes = number(48, "classes", 1, kU16);
    f.support = number(52, "prototype support", f.class_targets ? 1 : 0, kMany);
    class_name_bytes_ = number(56, "bytes of the class names", 1, kLargestFile);
    attribute_name_bytes_ = number(60, "bytes of the attribute names", 0, kLargestFile);
    f.feature_scaling = choice(64, "feature scaling", 2);
    f.semantic_scaling = choice(65, "semantic scaling", 2);
    f.gates = choice(66, "gates", 2);
    f.similarity = choice(67, "similarity", 2);
    const auto bits = number(68, "bits", 0, 3);
    f.networks_see_encoding = (bits & 1) != 0;
    f.relu = (bits & 2) != 0;
    f.gamma = real(72, "gamma", -1e6f, 1e6f);
    f.temperature = real(76, "temperature", 1e-9f, 1e9f);
    const bool linear = f.class_targets && f32_at(&bytes_[80]) == 0;
    f.width = linear ? 0 : real(80, "prototype width", 1e-3f, 1e6f);
    f.semantics = f.class_targets ? number(84, "semantics", 1, kMany) : f.outputs;
    if (!f.class_targets) check_zero(84, kTypesAt, "reserved");
    check_zero(kTypesAt + parts() + (has_source_ ? 1 : 0), f.class_targets ? kTablesAt : header_bytes(), "reserved");
    if (f.class_targets) f.tables.resize(number(kTablesAt, "tables", 0, f.attributes));
    if (f.tables.size() == 1) fail("tables", "0, or at least 2", "1");
    if (f.class_targets && f32_at(&bytes_[kDeviceHeadWeightAt]) != 0) {
      f.head_weight = real(kDeviceHeadWeightAt, "head weight", 1e-6f, 1e6f);
      if (f.outputs <= f.semantics)
        fail("outputs", fmt::format("more than the semantics ({}), as there are two heads", f.semantics),
             std::to_string(f.outputs));
    }
    if (f.class_targets) {
      f.example_prior = positive(kDeviceFieldAt, "example prior", 1e6f);
      f.strength = positive(kDeviceFieldAt + 4, "strength", 1e6f);
      f.sharpness = positive(kDeviceFieldAt + 8, "sharpness", 1e4f);
      f.certainty = real(kDeviceFieldAt + 12, "certainty", 0, std::nextafter(1.0f, 0.0f));
    }
    if (has_source_) read_source_header();

    const auto whitening = bytes_[kTypesAt + static_cast<std::size_t>(DevicePart::whitening)];
    if (whitening == std::byte{0} && f.semantics != f.attributes)
      fail(f.class_targets ? "semantics" : "outputs",
           fmt::format("{}, the attributes, as there is no whitening", f.attributes), std::to_string(f.semantics));
    if (f.gates == 0 && f.networks != 1) fail("networks", "1 with gates 'always'", std::to_string(f.networks));
    if (f.gates == 1 && gated_values() % f.networks != 0)
      fail("networks", fmt::format("a divisor of {} with gates 'energy'", gated_values()), std::to_string(f.networks));
    if (f.similarity != 0 && f.support != 0)
      fail("prototype support", "0, as the similarity is not the cosine", std::to_string(f.support));
  }

  void read_source_header() {
    constexpr std::uint32_t kMostPixels = 8192;
    const std::size_t at = header_bytes();
    FeatureSource& source = info_.source.emplace();
    source_bytes_ = number(at, "bytes of the source", kDeviceHashBytes + 2, kLargestFile);
    source.dimensions = number(at + 4, "dimensions of the source", 1, 100'000'000);
    source.input.width = u16_at(&bytes_[at + 8]);
    source.input.height = u16_at(&bytes_[at + 10]);
    for (const std::size_t side : {source.input.width, source.input.height})
      if (side < 1 || side > kMostPixels)
        fail("input of the source", fmt::format("1 to {} pixels", kMostPixels), std::to_string(side));
    source.input.preset = std::array{PixelPreset::torchvision, PixelPreset::caffe,
                                     PixelPreset::tf}[choice(at + 12, "preset of the source", 2)];
    source.input.fit = std::array{ImageFit::centre, ImageFit::whole}[choice(at + 13, "fit of the source", 1)];
    check_zero(at + 14, at + kDeviceSourceHeaderBytes, "reserved");
  }

  std::uint32_t gated_values() const { return info_.encoding > 0 ? info_.encoding : info_.features; }

  /// The table of docs/device.md for this header. Its numbers are below 2^33, bytes of a section below 2^51.
  std::array<Rule, kDeviceParts> rules() const {
    const auto& f = info_;
    const std::uint64_t d = f.features, m = f.attributes, o = f.outputs, q = f.semantics, h = f.encoding,
                        K = f.networks, r = f.stored_networks, C = f.classes, S = f.support, e = gated_values();
    const std::uint64_t z = h > 0 && f.networks_see_encoding ? h : d;
    const auto when = [](bool so) { return so ? Need::must : Need::must_not; };
    const auto placed = when(f.class_targets);
    const auto whitened = when(f.section(DevicePart::whitening).present());
    const bool rejects = f.version == 3;
    const std::uint64_t p = f.head_weight > 0 ? o - q : o;
    using enum Kind;
    return {{{"feature_mean", vector, 1, d, Need::may},
             {"feature_factor", vector, 1, d, Need::may},
             {"encoder", matrix, h, d, when(h > 0)},
             {"anchors", matrix, K, e, when(f.gates == 2)},
             {"networks", matrix, r * o, z, Need::must},
             {"network_bias", vector, 1, r * o, Need::must},
             {"mixing", vector, 1, K * r, when(r < K)},
             {"shared", matrix, o, d, Need::may},
             {"bias", vector, 1, o, Need::must},
             {"semantic_mean", vector, 1, m, Need::may},
             {"semantic_factor", vector, 1, m, Need::may},
             {"whitening_centre", vector, 1, m, whitened},
             {"whitening", matrix, q, m, Need::may},
             {"semantic_centre", vector, 1, o, Need::may},
             {"prototype_support", matrix, S, q, when(S > 0)},
             {"prototype_weights", matrix, o, S, when(S > 0)},
             {"class_vectors", matrix, C, o, Need::must},
             {"class_attributes", matrix, C, m, Need::must},
             {"class_seen", bytes, 1, C, Need::must},
             {"class_order", bytes, 1, 2 * C, Need::must},
             {"class_name_offsets", bytes, 1, 4 * C, Need::must},
             {"class_names", bytes, 1, class_name_bytes_, Need::must},
             {"attribute_names", bytes, 1, attribute_name_bytes_, when(attribute_name_bytes_ > 0)},
             {"attribute_head", matrix, m, p, placed},
             {"attribute_offset", vector, 1, m, placed},
             {"class_lengths", vector, 1, C, placed},
             {"class_predicted", vector, 1, C, placed},
             {"semantic_tables", bytes, 1, 4 * f.tables.size(), when(!f.tables.empty())},
             {"rejection", vector, 1, 4 * kDeviceEvidence + 4, when(rejects)},
             {"span", matrix, p, p, rejects ? Need::may : Need::must_not},
             {"span_offset", vector, 1, p, when(f.section(DevicePart::span).present())},
             {"source", bytes, 1, source_bytes_, when(has_source_)}}};
  }

  /// The offset behind `count` bytes at `at` and the padding that follows them, which is checked.
  std::uint64_t pass(std::uint64_t at, std::uint64_t count, const char* field) const {
    const std::uint64_t left = bytes_.size() - at;
    if (count > left) fail(field, fmt::format("{} bytes", count), fmt::format("{} left in the file", left));
    const std::uint64_t end = at + count, next = (end + kAlignment - 1) / kAlignment * kAlignment;
    if (next > bytes_.size())
      fail(field, fmt::format("padding up to offset {}", next), fmt::format("a file of {} bytes", bytes_.size()));
    check_zero(end, next, fmt::format("padding after {}", field));
    return next;
  }

  void place_sections() {
    for (std::size_t i = 0; i < parts(); ++i)
      info_.sections[i].type = std::to_integer<std::uint8_t>(bytes_[kTypesAt + i]);
    if (has_source_) info_.sections.back().type = std::to_integer<std::uint8_t>(bytes_[kTypesAt + parts()]);
    const auto table = rules();
    std::uint64_t at = first_section();
    for (std::size_t i = 0; i < kDeviceParts; ++i) {
      const Rule& rule = table[i];
      DeviceSection& s = info_.sections[i];
      s.name = rule.name;
      const char* types = rule.kind == Kind::vector ? "1 (f32)" : rule.kind == Kind::bytes ? "4 (bytes)" : "1 to 3";
      const std::uint8_t low = rule.kind == Kind::bytes ? kBytes : kF32;
      const std::uint8_t high = rule.kind == Kind::matrix ? kInt8 : low;
      if (s.present() ? rule.need == Need::must_not || s.type < low || s.type > high : rule.need == Need::must)
        fail(fmt::format("type of section {}", rule.name),
             rule.need == Need::must_not ? "0: the header excludes it"
                                         : fmt::format("{}{}", types, rule.need == Need::may ? ", or 0 (absent)" : ""),
             std::to_string(s.type));
      if (!s.present()) continue;
      s.rows = rule.rows;
      s.cols = rule.cols;
      if (s.type == kInt8) {
        s.scale_offset = at;
        at = pass(at, rule.rows * 4, rule.name);
      }
      s.offset = at;
      at = pass(at, rule.rows * rule.cols * (s.type == kF32 ? 4 : s.type == kF16 ? 2 : 1), rule.name);
    }
    if (at != bytes_.size())
      fail("end of the file", fmt::format("at offset {}, after the last section", at), std::to_string(bytes_.size()));
  }

  void check_values(const DeviceSection& s) const {
    const auto where = [&](std::size_t i) { return fmt::format("row {}, column {}", i / s.cols, i % s.cols); };
    const std::byte* values = bytes_.data() + s.offset;
    if (s.type == kF32)
      for (std::size_t i = 0; i < s.rows * s.cols; ++i)
        if (const float v = f32_at(values + 4 * i); !std::isfinite(v))
          fail(s.name, "finite values", fmt::format("{} in {}", v, where(i)));
    if (s.type == kF16)
      for (std::size_t i = 0; i < s.rows * s.cols; ++i)
        if (const float v = half_to_float(u16_at(values + 2 * i)); !std::isfinite(v))
          fail(s.name, "finite values", fmt::format("{} in {}", v, where(i)));
    if (s.type == kInt8)
      for (std::size_t r = 0; r < s.rows; ++r)
        if (const float v = f32_at(bytes_.data() + s.scale_offset + 4 * r); !std::isfinite(v) || v < 0)
          fail(s.name, "finite row scales, none negative", fmt::format("{} in row {}", v, r));
  }

  void read_tables() {
    const auto& s = info_.section(DevicePart::semantic_tables);
    std::uint64_t sum = 0;
    for (std::size_t t = 0; t < info_.tables.size(); ++t) {
      sum += info_.tables[t] = u32_at(bytes_.data() + s.offset + 4 * t);
      if (info_.tables[t] == 0) fail(s.name, "positive numbers", fmt::format("0 for table {}", t));
    }
    if (!info_.tables.empty() && sum != info_.attributes)
      fail(s.name, fmt::format("{} in all, the attributes", info_.attributes), std::to_string(sum));
  }

  void check_range(DevicePart part, float most, const char* expected) const {
    const auto& s = info_.section(part);
    for (std::size_t c = 0; c < s.cols; ++c)
      if (const float v = f32_at(bytes_.data() + s.offset + 4 * c); !(v >= 0 && v <= most))
        fail(s.name, expected, fmt::format("{} for class {}", v, c));
  }

  /// Weights and intercept of two kinds of samples come first, then the lowest values of evidence, then the highest.
  void check_rejection() const {
    const auto& s = info_.section(DevicePart::rejection);
    const std::byte* range = bytes_.data() + s.offset + 4 * 2 * (kDeviceEvidence + 1);
    for (std::size_t i = 0; s.present() && i < kDeviceEvidence; ++i) {
      const float low = f32_at(range + 4 * i), high = f32_at(range + 4 * (kDeviceEvidence + i));
      if (low > high) fail(s.name, "a range from low to high", fmt::format("{} to {} for value {}", low, high, i));
    }
  }

  std::vector<std::string> names(DevicePart part, std::uint32_t count) const {
    const auto& s = info_.section(part);
    const char* field = s.name;
    std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + s.offset, s.cols);
    std::vector<std::string> found;
    while (!rest.empty()) {
      const auto end = rest.find('\0');
      if (end == rest.npos) fail(field, "a zero byte after each name", "none after the last");
      if (end == 0) fail(field, "names that are not empty", fmt::format("an empty one at index {}", found.size()));
      if (found.size() == count) fail(field, fmt::format("{} names", count), "more");
      found.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (found.size() != count) fail(field, fmt::format("{} names", count), std::to_string(found.size()));
    return found;
  }

  void read_classes() {
    auto& f = info_;
    f.class_names = names(DevicePart::class_names, f.classes);
    if (f.section(DevicePart::attribute_names).present())
      f.attribute_names = names(DevicePart::attribute_names, f.attributes);
    const std::byte* seen = bytes_.data() + f.section(DevicePart::class_seen).offset;
    const std::byte* order = bytes_.data() + f.section(DevicePart::class_order).offset;
    const std::byte* name_offsets = bytes_.data() + f.section(DevicePart::class_name_offsets).offset;
    std::size_t name_at = 0;
    const std::string* last = nullptr;
    for (std::size_t i = 0; i < f.classes; ++i) {
      f.class_seen.push_back(std::to_integer<std::uint8_t>(seen[i]));
      if (f.class_seen[i] > 1)
        fail("class_seen", "0 or 1", fmt::format("{} for class '{}'", f.class_seen[i], f.class_names[i]));
      if (const auto offset = u32_at(name_offsets + 4 * i); offset != name_at)
        fail("class_name_offsets", fmt::format("{} for class '{}'", name_at, f.class_names[i]), std::to_string(offset));
      name_at += f.class_names[i].size() + 1;
      const auto index = u16_at(order + 2 * i);
      if (index >= f.classes)
        fail("class_order", fmt::format("indices below {}", f.classes), fmt::format("{} at place {}", index, i));
      const std::string& name = f.class_names[index];
      if (last != nullptr && !(*last < name))
        fail("class_order", "class names in ascending order", fmt::format("'{}' after '{}'", name, *last));
      last = &name;
    }
  }

  /// The hash of the network, its layer and its name.
  void read_source() {
    if (!has_source_) return;
    const auto& s = info_.section(DevicePart::source);
    FeatureSource& source = *info_.source;
    for (std::size_t i = 0; i < kDeviceHashBytes; ++i)
      source.sha256 += fmt::format("{:02x}", std::to_integer<unsigned>(bytes_[s.offset + i]));
    const std::string_view texts(reinterpret_cast<const char*>(bytes_.data()) + s.offset + kDeviceHashBytes,
                                 s.cols - kDeviceHashBytes);
    const auto end = texts.find('\0');
    if (end == texts.npos || texts.find('\0', end + 1) != texts.size() - 1)
      fail(s.name, "two texts, each with a zero byte at its end", "others");
    source.layer = texts.substr(0, end);
    source.backbone = texts.substr(end + 1, texts.size() - end - 2);
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  bool has_source_ = false;
  std::uint32_t class_name_bytes_ = 0, attribute_name_bytes_ = 0, source_bytes_ = 0;
  DeviceInfo info_;
};

}  // namespace

DeviceInfo read_device_info(std::span<const std::byte> bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

Matrix<float> device_matrix(std::span<const std::byte> bytes, const DeviceInfo& info, DevicePart part) {
  const auto& s = info.section(part);
  if (!s.present() || s.type == kBytes) return {};
  Matrix<float> values(s.rows, s.cols);
  const std::byte* from = bytes.data() + s.offset;
  for (std::size_t r = 0; r < s.rows; ++r) {
    const float scale = s.type == kInt8 ? f32_at(bytes.data() + s.scale_offset + 4 * r) : 1;
    for (std::size_t c = 0; c < s.cols; ++c) {
      const std::size_t i = r * s.cols + c;
      values(r, c) = s.type == kF32   ? f32_at(from + 4 * i)
                     : s.type == kF16 ? half_to_float(u16_at(from + 2 * i))
                                      : scale * static_cast<float>(static_cast<std::int8_t>(from[i]));
    }
  }
  return values;
}

}  // namespace parsnets
