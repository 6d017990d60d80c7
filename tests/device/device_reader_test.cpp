#include "device/device_reader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "base/file.hpp"
#include "device/device_file_builder.hpp"
#include "expect.hpp"
#include "paths.hpp"

namespace parsnets {

namespace {

using test::Bytes;
using test::DeviceFile;
using test::DeviceFileParts;
using test::DeviceKind;

using test::header_field;
using test::kind_named;
using test::kSectionKinds;
using test::kSectionNames;

bool is_bytes(std::size_t section) {
  const std::string kind = kSectionKinds[section];
  return kind != "VECTOR" && kind != "MATRIX";
}
bool is_matrix(std::size_t section) { return std::string(kSectionKinds[section]) == "MATRIX"; }
bool is_optional(std::size_t section) {
  static const std::set<std::string> names{"feature_mean",    "feature_factor",  "shared",    "semantic_mean",
                                           "semantic_factor", "semantic_centre", "rejection", "span"};
  return names.contains(kSectionNames[section]);
}

/// The field a file is refused for; empty if it is accepted.
std::string refused_field(const Bytes& file) {
  const auto error = test::thrown_by([&] { read_device_info(file, "model.pnd"); });
  if (!error) return "";
  EXPECT_EQ(error->code(), ErrorCode::bad_input);
  EXPECT_EQ(error->parts().file, "model.pnd");
  EXPECT_FALSE(error->parts().expected.empty());
  EXPECT_FALSE(error->parts().found.empty());
  EXPECT_FALSE(error->parts().advice.empty());
  return error->parts().field;
}

std::string refused_after(Bytes file, std::size_t offset, std::uint32_t value) {
  test::put_u32(file, offset, value);
  test::mend(file);
  return refused_field(file);
}

std::string refused_after_byte(Bytes file, std::size_t offset, int value) {
  file[offset] = static_cast<std::byte>(value);
  test::mend(file);
  return refused_field(file);
}

/// After a field of the header has another value.
std::string refused_with(Bytes file, const std::string& name, double value) {
  const auto& field = header_field(name);
  if (field.bytes == 1) return refused_after_byte(std::move(file), field.offset, static_cast<int>(value));
  return refused_after(std::move(file), field.offset,
                       field.is_float ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                      : static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
}

/// Calls check(kind, its parts, the file made of them) for every kind of file.
template <class Check>
void for_each_kind(const Check& check) {
  for (const auto& kind : test::device_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto parts = test::make_device_file(kind);
    check(kind, parts, assemble(parts));
  }
}

Bytes file_of(const char* kind) { return assemble(test::make_device_file(kind_named(kind))).bytes; }

std::string type_field(std::size_t section) { return std::string("type of section ") + kSectionNames[section]; }

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// After some values of four bytes in one section of a file have other bits.
std::string refused_with_values(const char* kind, DevicePart part, const std::map<std::size_t, std::uint32_t>& values) {
  auto file = assemble(test::make_device_file(kind_named(kind)));
  for (const auto& [index, bits] : values) test::put_u32(file.bytes, file.offset_of(part) + 4 * index, bits);
  test::mend(file.bytes);
  return refused_field(file.bytes);
}

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST(DeviceReader, AllKindsOfFilesReadBack) {
  std::set<int> gates, types;
  for_each_kind([&](const DeviceKind& kind, const DeviceFileParts& parts, const DeviceFile& file) {
    const auto info = read_device_info(file.bytes, "model.pnd");
    gates.insert(info.gates);
    for (const auto& [name, found, written] : {
#define FOUND(name, ...) std::tuple<const char*, double, double>{#name, info.name, parts.header.name},
             PNRT_SIZES(FOUND) PNRT_NUMBERS(FOUND) PNRT_CHOICES(FOUND)})
      EXPECT_EQ(found, written) << name;
    EXPECT_EQ(info.source, kind.has("source") ? std::optional(test::file_source()) : std::nullopt);
    EXPECT_EQ(info.class_names, parts.class_names);
    EXPECT_EQ(info.attribute_names, parts.attribute_names);
    EXPECT_EQ(info.class_seen, parts.class_seen);
    for (std::size_t i = 0; i < PNRT_SECTION_COUNT; ++i) {
      SCOPED_TRACE(kSectionNames[i]);
      types.insert(parts.sections[i].type);
      EXPECT_EQ(info.sections[i].type, parts.sections[i].type);
      EXPECT_EQ(info.sections[i].present(), parts.sections[i].type != 0);
      if (info.sections[i].present()) {
        EXPECT_EQ(info.sections[i].offset, file.offset[i]);
      }
      if (info.sections[i].type == 3) {
        EXPECT_EQ(info.sections[i].scale_offset, file.scale_offset[i]);
      }
      const auto values = test::device_matrix(file.bytes, info, static_cast<DevicePart>(i));
      const auto found = values.values();
      EXPECT_EQ(std::vector<float>(found.begin(), found.end()), parts.sections[i].values);
    }
    const auto networks = test::device_matrix(file.bytes, info, DevicePart::network_weights);
    EXPECT_EQ(networks.rows(), kind.header.basis * kind.header.outputs);
    EXPECT_EQ(test::device_matrix(file.bytes, info, DevicePart::bias).rows(), 1u);
  });
  EXPECT_EQ(gates, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(types, (std::set<int>{0, 1, 2, 3, 4}));
}

TEST(DeviceReader, EveryFieldOfTheHeaderHasItsBounds) {
  const auto file = file_of("classes f32");
  for (const auto& field : test::header_fields()) {
    const auto beyond = [&](double bound, int direction) {
      return field.is_float ? std::nextafterf(static_cast<float>(bound), direction * kInfinity) : bound + direction;
    };
    if (field.is_float || field.least > 0) {
      EXPECT_EQ(refused_with(file, field.name, beyond(field.least, -1)), field.name);
    }
    EXPECT_EQ(refused_with(file, field.name, beyond(field.most, 1)), field.name);
    if (!field.is_float) continue;
    for (const float bad : {kNan, kInfinity, -kInfinity}) EXPECT_EQ(refused_with(file, field.name, bad), field.name);
    for (const double good : {field.least, field.most}) EXPECT_EQ(refused_with(file, field.name, good), "");
  }
  const auto plain = file_of("always f32");
  for (const char* choice : {"feature_scaling", "semantic_scaling", "similarity", "sees_encoding", "relu"})
    for (int value = 0; value <= header_field(choice).most; ++value)
      EXPECT_EQ(refused_with(plain, choice, value), "") << choice;
  for (std::size_t i = PNRT_TYPES_AT; i < PNRT_HEADER_BYTES; ++i)
    EXPECT_EQ(refused_after_byte(file, i, 9).substr(0, 8), i < PNRT_TYPES_AT + 32 ? "type of " : "reserved");
  for (const std::uint32_t version : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 0x01000008u})
    EXPECT_EQ(refused_after(plain, 8, version), "format version") << version;
}

TEST(DeviceReader, FieldsThatBoundEachOtherAreChecked) {
  struct Case {
    const char *kind, *field;
    double value;
    const char* refused;
  };
  const Case cases[] = {{"always f32", "outputs", 3, "outputs"},
                        {"always f32", "attributes", 5, "semantics"},
                        {"always f32", "semantics", 3, "outputs"},
                        {"always f32", "networks", 2, "networks"},
                        {"energy f32 encoded", "networks", 4, "networks"},
                        {"energy f32 encoded", "open", 4, "open"},
                        {"energy f32 encoded", "basis", 4, "basis"},
                        {"always f16 dot", "support", 1, "support"},
                        {"always int8 euclidean", "support", 1, "support"},
                        {"always f32", "support", 1, "type of section prototype_support"},
                        {"classes f32", "support", 0, "outputs"},
                        {"classes f32", "similarity", 1, "support"},
                        {"classes f32", "semantics", 3, "semantics"},
                        {"classes f32", "width", 0.0009999, "width"},
                        {"classes f32", "tables", 1, "tables"},
                        {"classes f32", "tables", 5, "tables"},
                        {"classes f32", "tables", 2, "type of section table_attributes"},
                        {"classes of three tables", "tables", 0, "type of section table_attributes"},
                        {"always f32", "attribute_name_bytes", 0, "type of section attribute_names"},
                        {"always f32", "source_bytes", 34, "source_dimensions"},
                        {"source f32", "source_bytes", 33, "source_bytes"},
                        {"source f32", "source_bytes", 0, "source_dimensions"},
                        {"source f32", "source_dimensions", 0, "source_dimensions"},
                        {"source f32", "source_width", 0, "source_width"},
                        {"source f32", "source_height", 0, "source_height"},
                        {"always f32", "source_preset", 1, "source_preset"},
                        {"always f32", "source_fit", 1, "source_fit"}};
  for (const auto& c : cases)
    EXPECT_EQ(refused_with(file_of(c.kind), c.field, c.value), c.refused)
        << c.kind << ": " << c.field << " " << c.value;
  for (const double width : {0.0, -0.0, 1e-3, 1e6}) EXPECT_EQ(refused_with(file_of("classes f32"), "width", width), "");
}

TEST(DeviceReader, HowClassesAreMadeUpIsChecked) {
  const auto set = [](DevicePart part, float value) {
    return refused_with_values("classes f32", part, {{1, bits_of(value)}});
  };
  for (const float good : {0.0f, -0.0f, 1.0f}) {
    EXPECT_EQ(set(DevicePart::class_lengths, good), "");
    EXPECT_EQ(set(DevicePart::class_predicted, good), "");
  }
  EXPECT_EQ(set(DevicePart::class_lengths, std::numeric_limits<float>::max()), "");
  EXPECT_EQ(set(DevicePart::class_lengths, -1e-45f), "class_lengths");
  for (const float bad : {-1e-45f, 1.0000001f}) EXPECT_EQ(set(DevicePart::class_predicted, bad), "class_predicted");
  const auto set_tables = [](std::uint32_t first, std::uint32_t second) {
    return refused_with_values("classes of three tables", DevicePart::table_attributes, {{0, first}, {1, second}});
  };
  EXPECT_EQ(set_tables(6, 2), "");
  EXPECT_EQ(set_tables(8, 0), "table_attributes");
  EXPECT_EQ(set_tables(7, 2), "table_attributes") << "tables have all attributes together";
  EXPECT_EQ(set_tables(0xffffffff, 9), "table_attributes") << "a sum that wraps around";
}

TEST(DeviceReader, TheRangeOfEvidenceIsChecked) {
  const auto set = [](std::map<std::size_t, std::uint32_t> values) {
    return refused_with_values("rejection f32", DevicePart::rejection, values);
  };
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(set({{14 + i, bits_of(0.5f)}, {20 + i, bits_of(0.5f)}}), "");
    EXPECT_EQ(set({{14 + i, bits_of(0.5f)}, {20 + i, bits_of(0.49f)}}), "rejection");
  }
  for (const std::size_t weight_or_threshold : {13u, 26u}) EXPECT_EQ(set({{weight_or_threshold, bits_of(1e30f)}}), "");
}

TEST(DeviceReader, TheTextsOfTheSourceAreChecked) {
  auto parts = test::make_device_file(kind_named("source rejection"));
  const auto file = assemble(parts);
  const std::size_t texts = file.offset_of(DevicePart::source) + 32,
                    end = file.end[static_cast<std::size_t>(DevicePart::source)];
  const double bytes = parts.header.source_bytes;
  EXPECT_EQ(refused_with(file.bytes, "source_bytes", bytes - 1), "source") << "the last text has no end";
  EXPECT_EQ(refused_with(file.bytes, "source_bytes", bytes + 1), "source") << "a zero byte more";
  EXPECT_EQ(refused_with(file.bytes, "source_bytes", 0x7fffffff), "source") << "more than there is";
  EXPECT_EQ(refused_with(file.bytes, "source_dimensions", 100'000'000), "");
  EXPECT_EQ(refused_after_byte(file.bytes, texts, 0), "source") << "three texts";
  EXPECT_EQ(refused_after_byte(file.bytes, texts + 8, 'x'), "source") << "one text";
  EXPECT_EQ(refused_after_byte(file.bytes, end - 1, 'x'), "source") << "no end";
  EXPECT_EQ(refused_after_byte(file.bytes, end - 2, 1), "") << "names may have any other bytes";
  for (const int hash : {0, 255}) EXPECT_EQ(refused_after_byte(file.bytes, texts - 1, hash), "");
  parts.section(DevicePart::source).contents.assign(34, std::byte{0});
  parts.header.source_bytes = 34;
  EXPECT_EQ(refused_field(assemble(parts).bytes), "") << "names may be empty";
}

TEST(DeviceReader, SizesThatDisagreeWithTheContentsAreRefused) {
  for_each_kind([&](const DeviceKind& kind, const DeviceFileParts&, const DeviceFile& whole) {
    const Bytes& file = whole.bytes;
    for (const auto& field : test::header_fields()) {
      const std::string name = field.name;
      // Any number of active networks up to K is right, and any input of a source.
      if (field.is_float || field.bytes == 1 || name == "open" || name.starts_with("source_")) continue;
      for (const std::uint32_t other : {65535u, 65536u, 0x7fffffffu, 0xffffffffu})
        EXPECT_NE(refused_after(file, field.offset, other), "") << other << " for " << name;
      // A small file of bytes or halves may have room for one more in its padding; these have not.
      if (kind.name != "mixed all parts" && kind.name != "energy f32 encoded") continue;
      std::uint32_t value = 0;
      std::memcpy(&value, &file[field.offset], 4);
      for (const std::uint32_t other : {value + 1, value - 1, value * 2 + 1})
        EXPECT_NE(refused_after(file, field.offset, other), "") << other << " for " << name;
    }
  });
}

TEST(DeviceReader, SectionsArePresentExactlyWhenTheyShould) {
  std::map<std::string, int> dropped, added;
  for_each_kind([&](const DeviceKind& kind, const DeviceFileParts& parts, const DeviceFile&) {
    for (std::size_t i = 0; i < PNRT_SECTION_COUNT; ++i) {
      const std::string name = kSectionNames[i];
      SCOPED_TRACE(name);
      auto changed = parts;
      if (parts.sections[i].type != 0) {
        changed.sections[i].type = 0;
        const auto field = refused_field(assemble(changed).bytes);
        // A section that others need shows in those.
        if (name == "whitening")
          EXPECT_TRUE(field == "semantics" || field == "type of section whitening_centre") << field;
        else if (name == "rejection" && kind.has("span"))
          EXPECT_EQ(field, "type of section span");
        else if (name == "span")
          EXPECT_EQ(field, "type of section span_offset");
        else
          EXPECT_EQ(field, is_optional(i) ? "" : type_field(i));
        ++dropped[name];
      } else if (name != "whitening" && (!is_optional(i) || (name == "rejection" && kind.header.support == 0))) {
        changed.sections[i].type = is_bytes(i) ? 4 : 1;
        EXPECT_EQ(refused_field(assemble(changed).bytes), type_field(i));
        ++added[name];
      }
    }
  });
  EXPECT_EQ(dropped.size(), std::size_t{PNRT_SECTION_COUNT});
  for (const char* name : {"encoder", "anchors", "mixing", "whitening_centre", "prototype_support", "prototype_weights",
                           "attribute_names", "rejection", "source"})
    EXPECT_GT(added[name], 0) << name;
}

TEST(DeviceReader, SectionsHaveTheTypesOfTheirKindAndFiniteValues) {
  for_each_kind([&](const DeviceKind&, const DeviceFileParts& parts, const DeviceFile& file) {
    for (std::size_t i = 0; i < PNRT_SECTION_COUNT; ++i) {
      SCOPED_TRACE(kSectionNames[i]);
      const int type = parts.sections[i].type;
      for (const int other : {1, 2, 3, 4, 5, 255}) {
        if (type == 0 || (is_bytes(i) ? other == 4 : other == 1 || (is_matrix(i) && other <= 3))) continue;
        EXPECT_EQ(refused_after_byte(file.bytes, PNRT_TYPES_AT + i, other), type_field(i)) << "type " << other;
      }
      if (type == 1) {
        for (const float bad : {kNan, kInfinity, -kInfinity})
          for (const auto at : {file.offset[i], file.end[i] - 4})
            EXPECT_EQ(refused_after(file.bytes, at, bits_of(bad)), kSectionNames[i]);
      }
      if (type == 2) {
        for (const std::uint32_t bad : {0x7c00u, 0xfc00u, 0x7e00u, 0x7c01u})
          for (const auto at : {file.offset[i], file.end[i] - 2}) {
            auto changed = file.bytes;
            changed[at] = static_cast<std::byte>(bad);
            changed[at + 1] = static_cast<std::byte>(bad >> 8);
            test::mend(changed);
            EXPECT_EQ(refused_field(changed), kSectionNames[i]);
          }
      }
      if (type == 3) {
        for (const float bad : {kNan, kInfinity, -kInfinity, -1.0f, -1e-45f})
          EXPECT_EQ(refused_after(file.bytes, file.scale_offset[i], bits_of(bad)), kSectionNames[i]);
        for (const float good : {0.0f, -0.0f, 1e-45f, 3e38f})
          EXPECT_EQ(refused_after(file.bytes, file.scale_offset[i], bits_of(good)), "");
        EXPECT_EQ(refused_after_byte(file.bytes, file.offset[i], 128), "");
      }
    }
  });
}

TEST(DeviceReader, ClassListsAreChecked) {
  const auto parts = test::make_device_file(kind_named("always f32"));
  const auto file = assemble(parts);
  struct Change {
    DevicePart section;
    std::size_t at;
    int value;
    const char* refused;
  };
  const std::size_t end = parts.header.class_name_bytes - 1;
  // The names are zebra, wolfé, wolf: their order is 2, 1, 0, and they begin at 0, 6 and 13.
  const Change changes[] = {{DevicePart::class_seen, 0, 2, "class_seen"},
                            {DevicePart::class_seen, 2, 255, "class_seen"},
                            {DevicePart::class_seen, 2, 1, ""},
                            {DevicePart::class_order, 0, 3, "class_order"},
                            {DevicePart::class_order, 1, 1, "class_order"},
                            {DevicePart::class_order, 0, 1, "class_order"},
                            {DevicePart::class_order, 0, 0, "class_order"},
                            {DevicePart::class_order, 4, 1, "class_order"},
                            {DevicePart::class_names, 0, 0, "class_names"},      // an empty name
                            {DevicePart::class_names, 2, 0, "class_names"},      // one name more
                            {DevicePart::class_names, 5, 'x', "class_names"},    // one name less
                            {DevicePart::class_names, end, 'x', "class_names"},  // the last does not end
                            {DevicePart::class_names, 0, 'a', "class_order"},    // a name that belongs elsewhere
                            {DevicePart::attribute_names, 0, 0, "attribute_names"},
                            {DevicePart::attribute_names, 1, 0, "attribute_names"},
                            {DevicePart::attribute_names, 4, 'x', "attribute_names"},
                            {DevicePart::class_name_offsets, 0, 1, "class_name_offsets"},
                            {DevicePart::class_name_offsets, 4, 7, "class_name_offsets"},
                            {DevicePart::class_name_offsets, 8, 6, "class_name_offsets"},
                            {DevicePart::class_name_offsets, 11, 1, "class_name_offsets"}};
  for (const auto& [section, at, value, refused] : changes)
    EXPECT_EQ(refused_after_byte(file.bytes, file.offset_of(section) + at, value), refused) << at << ' ' << value;

  auto twice = parts;
  twice.section(DevicePart::class_name_offsets).contents.clear();
  for (const std::uint32_t offset : {0, 4, 8})
    test::append_u32(twice.section(DevicePart::class_name_offsets).contents, offset);
  twice.section(DevicePart::class_names).contents.clear();
  for (const std::string name : {"one", "two", "one"})
    test::append_text(twice.section(DevicePart::class_names).contents, name);
  twice.header.class_name_bytes = 12;
  for (const auto& order : {std::array{0, 2, 1}, std::array{2, 0, 1}, std::array{0, 1, 1}, std::array{0, 1, 0}}) {
    for (std::size_t i = 0; i < 3; ++i)
      twice.section(DevicePart::class_order).contents[2 * i] = static_cast<std::byte>(order[i]);
    EXPECT_EQ(refused_field(assemble(twice).bytes), "class_order");
  }
}

TEST(DeviceReader, PaddingIsZeroAndEveryDamagedByteIsNoticed) {
  std::size_t padding = 0;
  for_each_kind([&](const DeviceKind&, const DeviceFileParts& parts, const DeviceFile& file) {
    std::vector<bool> used(file.bytes.size());
    const auto use = [&](std::size_t from, std::size_t count) { std::fill_n(used.begin() + from, count, true); };
    use(0, PNRT_HEADER_BYTES);
    for (std::size_t i = 0; i < PNRT_SECTION_COUNT; ++i) {
      if (parts.sections[i].type == 0) continue;
      use(file.scale_offset[i], parts.sections[i].scales.size());
      use(file.offset[i], parts.sections[i].contents.size());
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      auto damaged = file.bytes;
      damaged[i] ^= std::byte{0x10};
      const char* expected = i < 8 ? "magic" : i < 12 ? "format version" : i < 16 ? "bytes of the file" : "CRC-32";
      EXPECT_EQ(refused_field(damaged), expected) << "offset " << i;
      if (used[i]) continue;
      ++padding;
      EXPECT_EQ(refused_after_byte(file.bytes, i, 1).substr(0, 14), "padding after ") << "offset " << i;
    }
  });
  EXPECT_GT(padding, 100u);
}

/// A row of the page's tables.
std::string row(std::initializer_list<std::string> cells) {
  std::string line = "|";
  for (const auto& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string bound(double value) {
  return fmt::format("{:.10g}", value == static_cast<float>(value) ? std::stod(fmt::format("{:.6g}", value)) : value);
}

TEST(DeviceReader, ThePageOfTheFormatHasTheTables) {
  std::map<std::string, std::string> meanings;
#define MEANING(name, least, most, meaning) meanings[#name] = meaning;
#define CHOICE_MEANING(name, most, meaning) meanings[#name] = meaning;
  PNRT_SIZES(MEANING)
  PNRT_NUMBERS(MEANING)
  PNRT_CHOICES(CHOICE_MEANING)
  std::string expected;
  for (const auto& field : test::header_fields())
    expected += row({std::to_string(field.offset),
                     field.bytes == 1 ? "u8"
                     : field.is_float ? "f32"
                                      : "u32",
                     fmt::format("`{}`", field.name), bound(field.least) + " to " + bound(field.most),
                     meanings.at(field.name)});
  expected += row({std::to_string(PNRT_TYPES_AT), fmt::format("{} × u8", int{PNRT_SECTION_COUNT}), "types", "0 to 4",
                   "of each section: 0 absent, 1 f32, 2 f16, 3 int8, 4 bytes"});
  const std::string page = read_text_file(std::filesystem::path(PARSNETS_SOURCE_DIR) / "docs/device.md");
  EXPECT_NE(page.find(expected), std::string::npos) << "docs/device.md should have\n" << expected;

  expected.clear();
  const auto add = [&](const std::string& kind, const std::string& name, const std::string& rows,
                       const std::string& columns, std::string present, const std::string& meaning) {
    for (const auto& [code, text] : {std::pair{"MAY_IF\\(HAS\\((.*)\\)\\)", "optional with `$1`"},
                                     {"MAY_IF\\((.*)\\)", "optional if $1"},
                                     {"HAS\\((.*)\\)", "with `$1`"},
                                     {"^(.* [>=<]+ .*)$", "if $1"},
                                     {"if optional", "optional"},
                                     {"MUST", "always"},
                                     {"MAY", "optional"},
                                     {"==", "="}})
      present = std::regex_replace(present, std::regex(code), text);
    std::string type = kind;
    std::ranges::transform(type, type.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    expected +=
        row({fmt::format("`{}`", name), type, rows == "1" ? columns : rows + " × " + columns, present, meaning});
  };
#define ADD(kind, name, rows, columns, present, meaning) add(#kind, #name, #rows, #columns, #present, meaning);
  PNRT_SECTIONS(ADD)
  EXPECT_NE(page.find(expected), std::string::npos) << "docs/device.md should have\n" << expected;
}

TEST(DeviceReader, OtherFilesAreToldApartByTheirFirstBytes) {
  const auto file = assemble(test::make_device_file(kind_named("smallest"))).bytes;
  EXPECT_TRUE(looks_like_device_file(file));
  EXPECT_TRUE(looks_like_device_file(std::span(file).first(8)));
  EXPECT_FALSE(looks_like_device_file(std::span(file).first(7)));
  EXPECT_FALSE(looks_like_device_file(std::span(file).subspan(1)));
  EXPECT_FALSE(looks_like_device_file({}));
  EXPECT_EQ(refused_field(Bytes(400)), "magic");
  EXPECT_EQ(refused_field({}), "magic");
}

}  // namespace parsnets
