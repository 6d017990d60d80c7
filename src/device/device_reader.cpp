#include "device/device_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.hpp"
#include "base/text.hpp"
#include "formats/file_kind.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::uint32_t kLargestFile = 0x7fffffff;
constexpr const char* kDamaged = "the file is damaged: export the model again";

std::uint16_t u16_at(const std::byte* p) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(p[0]) | std::to_integer<unsigned>(p[1]) << 8);
}
std::uint32_t u32_at(const std::byte* p) { return u16_at(p) | static_cast<std::uint32_t>(u16_at(p + 2)) << 16; }
float f32_at(const std::byte* p) { return std::bit_cast<float>(u32_at(p)); }

enum Kind { VECTOR, MATRIX, U8, U16, U32, TEXT };
enum Need { NEVER, MUST, MAY };
constexpr Need need(bool condition) { return condition ? MUST : NEVER; }
constexpr Need need(Need already) { return already; }

std::size_t element_bytes(Kind kind, std::uint8_t type) {
  if (kind == VECTOR || kind == MATRIX) return type == PNRT_F32 ? 4 : type == PNRT_F16 ? 2 : 1;
  return kind == U32 ? 4 : kind == U16 ? 2 : 1;
}

/// A row of the table of sections, for one header. Its numbers are below 2^33, bytes of a section below 2^51.
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
    check_header();
    place_sections();
    for (const auto& s : info_.sections) check_values(s);
    check_range(DevicePart::class_lengths, std::numeric_limits<float>::max(), "lengths, none negative");
    check_range(DevicePart::class_predicted, 1, "weights from 0 to 1");
    check_rejection();
    check_tables();
    read_classes();
    read_source();
    return std::move(info_);
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& expected, const std::string& found,
                         const std::string& advice = kDamaged) const {
    throw Error(BadInput{name_, field, expected, found, advice});
  }

  template <class T>
  void require_within(const char* field, T value, T least, T most) const {
    if (!(value >= least && value <= most)) fail(field, fmt::format("{} to {}", least, most), fmt::format("{}", value));
  }

  void check_zero(std::size_t from, std::size_t to, const std::string& field) const {
    for (std::size_t i = from; i < to; ++i)
      if (bytes_[i] != std::byte{0})
        fail(field, "zero bytes", fmt::format("{} at offset {}", std::to_integer<int>(bytes_[i]), i));
  }

  void check_envelope() {
    if (!looks_like_device_file(bytes_))
      fail("magic", fmt::format("'{}'", kDeviceMagic), "something else", "this is not a device file");
    const auto truncated = [&](const std::string& expected, const std::string& found) {
      fail("bytes of the file", expected, found, "the file is truncated or has extra bytes: copy it again");
    };
    if (bytes_.size() < PNRT_SIZES_AT) truncated("a header", std::to_string(bytes_.size()));
    if (const auto version = u32_at(&bytes_[8]); version != PNRT_FORMAT_VERSION)
      fail("format version", std::to_string(PNRT_FORMAT_VERSION), std::to_string(version),
           "it was written for another version of ParsNets: export the model again");
    if (const auto size = u32_at(&bytes_[12]); size != bytes_.size() || size < PNRT_HEADER_BYTES || size > kLargestFile)
      truncated(fmt::format("{}, the size of the file", bytes_.size()), std::to_string(size));
    const auto sum = crc32_z(0, reinterpret_cast<const unsigned char*>(&bytes_[20]), bytes_.size() - 20);
    if (const auto stored = u32_at(&bytes_[16]); stored != sum)
      fail("CRC-32", fmt::format("{:08x}, that of the contents", sum), fmt::format("{:08x}", stored));
  }

  void read_header() {
    const std::byte *size = &bytes_[PNRT_SIZES_AT], *number = &bytes_[PNRT_NUMBERS_AT],
                    *choice = &bytes_[PNRT_CHOICES_AT];
#define READ_SIZE(name, least, most, meaning)                                   \
  require_within<std::uint32_t>(#name, info_.name = u32_at(size), least, most); \
  size += 4;
#define READ_NUMBER(name, least, most, meaning)                           \
  require_within<float>(#name, info_.name = f32_at(number), least, most); \
  number += 4;
#define READ_CHOICE(name, most, meaning) \
  require_within<unsigned>(#name, info_.name = std::to_integer<std::uint8_t>(*choice++), 0, most);
    PNRT_SIZES(READ_SIZE)
    PNRT_NUMBERS(READ_NUMBER)
    PNRT_CHOICES(READ_CHOICE)
#undef READ_SIZE
#undef READ_NUMBER
#undef READ_CHOICE
    check_zero(std::size_t{PNRT_TYPES_AT} + PNRT_SECTION_COUNT, PNRT_HEADER_BYTES, "reserved");
    for (std::size_t i = 0; i < PNRT_SECTION_COUNT; ++i)
      info_.sections[i].type = std::to_integer<std::uint8_t>(bytes_[PNRT_TYPES_AT + i]);
  }

  /// Fields that bound each other.
  void check_header() const {
    const auto& f = info_;
    const auto require = [&](bool good, const char* field, const std::string& expected, auto found) {
      if (!good) fail(field, expected, fmt::format("{}", found));
    };
    const std::uint32_t gated = f.encoding > 0 ? f.encoding : f.features;
    require(f.open <= f.networks, "open", fmt::format("at most {}, the networks", f.networks), f.open);
    require(f.basis <= f.networks, "basis", fmt::format("at most {}, the networks", f.networks), f.basis);
    require(f.tables != 1 && f.tables <= f.attributes, "tables", "0, or from 2 to the attributes", f.tables);
    require(f.gates != 0 || f.networks == 1, "networks", "1 with gates 'always'", f.networks);
    require(f.gates != 1 || gated % f.networks == 0, "networks",
            fmt::format("a divisor of {} with gates 'energy'", gated), f.networks);
    require(f.support == 0 || f.similarity == 0, "support", "0, as the similarity is not the cosine", f.support);
    require(f.support > 0 || f.outputs == f.semantics, "outputs",
            fmt::format("{}, the semantics, as there is no class space", f.semantics), f.outputs);
    require(f.section(DevicePart::whitening).present() || f.semantics == f.attributes, "semantics",
            fmt::format("{}, the attributes, as there is no whitening", f.attributes), f.semantics);
    require(f.width == 0 || f.width >= 1e-3f, "width", "0, or at least 0.001", f.width);
    const std::pair<const char*, std::uint32_t> source[] = {{"source_dimensions", f.source_dimensions},
                                                            {"source_width", f.source_width},
                                                            {"source_height", f.source_height},
                                                            {"source_preset", f.source_preset},
                                                            {"source_fit", f.source_fit}};
    for (std::size_t i = 0; i < std::size(source); ++i) {
      if (f.source_bytes == 0) require(source[i].second == 0, source[i].first, "0 without a source", source[i].second);
      if (f.source_bytes > 0 && i < 3) require(source[i].second > 0, source[i].first, "at least 1", 0);
    }
    require(f.source_bytes == 0 || f.source_bytes >= kDeviceHashBytes + 2, "source_bytes",
            fmt::format("0, or at least {}", kDeviceHashBytes + 2), f.source_bytes);
  }

  /// The table of sections for this header.
  std::array<Rule, PNRT_SECTION_COUNT> rules() const {
#define HAS(name) info_.section(DevicePart::name).present()
#define MAY_IF(condition) ((condition) ? MAY : NEVER)
#define RULE(kind, name, rows, columns, present, meaning) Rule{#name, kind, rows, columns, need(present)},
    PNRT_SYMBOLS(&info_);
    return {{PNRT_SECTIONS(RULE)}};
#undef HAS
#undef MAY_IF
#undef RULE
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
    const auto table = rules();
    std::uint64_t at = PNRT_HEADER_BYTES;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const Rule& rule = table[i];
      DeviceSection& s = info_.sections[i];
      s.name = rule.name;
      const bool bytes = rule.kind != VECTOR && rule.kind != MATRIX;
      const int low = bytes ? PNRT_BYTES : PNRT_F32, high = rule.kind == MATRIX ? int{PNRT_I8} : low;
      if (s.present() ? rule.need == NEVER || s.type < low || s.type > high : rule.need == MUST)
        fail(fmt::format("type of section {}", rule.name),
             rule.need == NEVER ? "0: the header excludes it"
                                : fmt::format("{}{}",
                                              bytes                 ? "4 (bytes)"
                                              : rule.kind == VECTOR ? "1 (f32)"
                                                                    : "1 to 3",
                                              rule.need == MAY ? ", or 0 (absent)" : ""),
             std::to_string(s.type));
      if (!s.present()) continue;
      s.rows = rule.rows;
      s.cols = rule.cols;
      if (s.type == PNRT_I8) {
        s.scale_offset = at;
        at = pass(at, rule.rows * 4, rule.name);
      }
      s.offset = at;
      at = pass(at, rule.rows * rule.cols * element_bytes(rule.kind, s.type), rule.name);
    }
    if (at != bytes_.size())
      fail("end of the file", fmt::format("at offset {}, after the last section", at), std::to_string(bytes_.size()));
  }

  const std::byte* values(DevicePart part) const { return bytes_.data() + info_.section(part).offset; }

  void check_values(const DeviceSection& s) const {
    const std::byte* values = bytes_.data() + s.offset;
    for (std::size_t i = 0; (s.type == PNRT_F32 || s.type == PNRT_F16) && i < s.rows * s.cols; ++i)
      if (const float v = s.type == PNRT_F32 ? f32_at(values + 4 * i) : half_to_float(u16_at(values + 2 * i));
          !std::isfinite(v))
        fail(s.name, "finite values", fmt::format("{} in row {}, column {}", v, i / s.cols, i % s.cols));
    for (std::size_t r = 0; s.type == PNRT_I8 && r < s.rows; ++r)
      if (const float v = f32_at(bytes_.data() + s.scale_offset + 4 * r); !std::isfinite(v) || v < 0)
        fail(s.name, "finite row scales, none negative", fmt::format("{} in row {}", v, r));
  }

  void check_tables() const {
    std::uint64_t sum = 0;
    for (std::size_t t = 0; t < info_.tables; ++t) {
      const std::uint32_t attributes = u32_at(values(DevicePart::table_attributes) + 4 * t);
      if (attributes == 0) fail("table_attributes", "positive numbers", fmt::format("0 for table {}", t));
      sum += attributes;
    }
    if (info_.tables > 0 && sum != info_.attributes)
      fail("table_attributes", fmt::format("{} in all, the attributes", info_.attributes), std::to_string(sum));
  }

  void check_range(DevicePart part, float most, const char* expected) const {
    const auto& s = info_.section(part);
    for (std::size_t c = 0; c < s.cols; ++c)
      if (const float v = f32_at(values(part) + 4 * c); !(v >= 0 && v <= most))
        fail(s.name, expected, fmt::format("{} for class {}", v, c));
  }

  /// Weights and intercept of two kinds of samples come first, then the lowest values of evidence, then the highest.
  void check_rejection() const {
    const std::byte* range = values(DevicePart::rejection) + 4 * 2 * (kDeviceEvidence + 1);
    for (std::size_t i = 0; info_.section(DevicePart::rejection).present() && i < kDeviceEvidence; ++i) {
      const float low = f32_at(range + 4 * i), high = f32_at(range + 4 * (kDeviceEvidence + i));
      if (low > high) fail("rejection", "a range from low to high", fmt::format("{} to {} for value {}", low, high, i));
    }
  }

  std::vector<std::string> names(DevicePart part, std::uint32_t count) const {
    const auto& s = info_.section(part);
    std::string_view rest(reinterpret_cast<const char*>(values(part)), s.cols);
    std::vector<std::string> found;
    while (!rest.empty()) {
      const auto end = rest.find('\0');
      if (end == rest.npos) fail(s.name, "a zero byte after each name", "none after the last");
      if (end == 0) fail(s.name, "names that are not empty", fmt::format("an empty one at index {}", found.size()));
      if (found.size() == count) fail(s.name, fmt::format("{} names", count), "more");
      found.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (found.size() != count) fail(s.name, fmt::format("{} names", count), std::to_string(found.size()));
    return found;
  }

  void read_classes() {
    auto& f = info_;
    f.class_names = names(DevicePart::class_names, f.classes);
    if (f.attribute_name_bytes > 0) f.attribute_names = names(DevicePart::attribute_names, f.attributes);
    std::size_t name_at = 0;
    const std::string* last = nullptr;
    for (std::size_t i = 0; i < f.classes; ++i) {
      f.class_seen.push_back(std::to_integer<std::uint8_t>(values(DevicePart::class_seen)[i]));
      if (f.class_seen[i] > 1)
        fail("class_seen", "0 or 1", fmt::format("{} for class '{}'", f.class_seen[i], f.class_names[i]));
      if (const auto offset = u32_at(values(DevicePart::class_name_offsets) + 4 * i); offset != name_at)
        fail("class_name_offsets", fmt::format("{} for class '{}'", name_at, f.class_names[i]), std::to_string(offset));
      name_at += f.class_names[i].size() + 1;
      const auto index = u16_at(values(DevicePart::class_order) + 2 * i);
      if (index >= f.classes)
        fail("class_order", fmt::format("indices below {}", f.classes), fmt::format("{} at index {}", index, i));
      const std::string& name = f.class_names[index];
      if (last != nullptr && !(*last < name))
        fail("class_order", "class names in ascending order", fmt::format("'{}' after '{}'", name, *last));
      last = &name;
    }
  }

  /// The hash of the backbone, its layer and its name.
  void read_source() {
    if (info_.source_bytes == 0) return;
    FeatureSource& source = info_.source.emplace();
    source.dimensions = info_.source_dimensions;
    source.input = {std::array{PixelPreset::torchvision, PixelPreset::caffe, PixelPreset::tf}[info_.source_preset],
                    std::array{ImageFit::centre, ImageFit::whole}[info_.source_fit % 2], info_.source_width,
                    info_.source_height};
    if (info_.source_fit >= 2) source.pool = FeatureSource::Pooling::both;
    const std::byte* from = values(DevicePart::source);
    for (std::size_t i = 0; i < kDeviceHashBytes; ++i)
      source.sha256 += fmt::format("{:02x}", std::to_integer<unsigned>(from[i]));
    const std::string_view texts(reinterpret_cast<const char*>(from) + kDeviceHashBytes,
                                 info_.source_bytes - kDeviceHashBytes);
    const auto end = texts.find('\0');
    if (end == texts.npos || texts.find('\0', end + 1) != texts.size() - 1)
      fail("source", "two texts, each with a zero byte at its end", "others");
    source.layer = texts.substr(0, end);
    source.backbone = texts.substr(end + 1, texts.size() - end - 2);
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  DeviceInfo info_;
};

}  // namespace

DeviceInfo read_device_info(std::span<const std::byte> bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

}  // namespace parsnets
