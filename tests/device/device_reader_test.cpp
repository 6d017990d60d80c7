#include "device/device_reader.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "device/device_file_builder.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using test::Bytes;
using test::DeviceFile;
using test::DeviceFileParts;
using test::DeviceKind;

constexpr const char* kSectionNames[] = {"feature_mean",
                                         "feature_factor",
                                         "encoder",
                                         "anchors",
                                         "networks",
                                         "network_bias",
                                         "mixing",
                                         "shared",
                                         "bias",
                                         "semantic_mean",
                                         "semantic_factor",
                                         "whitening_centre",
                                         "whitening",
                                         "semantic_centre",
                                         "prototype_support",
                                         "prototype_weights",
                                         "class_vectors",
                                         "class_attributes",
                                         "class_seen",
                                         "class_order",
                                         "class_name_offsets",
                                         "class_names",
                                         "attribute_names",
                                         "attribute_head",
                                         "attribute_offset",
                                         "class_lengths",
                                         "class_predicted",
                                         "semantic_tables",
                                         "rejection",
                                         "span",
                                         "span_offset",
                                         "source"};

bool is_bytes(std::size_t section) { return (section >= 18 && section <= 22) || section == 27 || section == 31; }
bool is_matrix(std::size_t section) {
  return (section >= 2 && section <= 4) || section == 7 || section == 12 || (section >= 14 && section <= 17) ||
         section == 23 || section == 29;
}

DeviceKind kind_named(const std::string& name) {
  for (const auto& kind : test::device_kinds())
    if (kind.name == name) return kind;
  throw std::out_of_range(name);
}

/// The field a file is refused for; empty if it is accepted.
std::string refused_field(const Bytes& file) {
  try {
    read_device_info(file, "model.pnd");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.parts().file, "model.pnd");
    EXPECT_FALSE(error.parts().expected.empty());
    EXPECT_FALSE(error.parts().found.empty());
    EXPECT_FALSE(error.parts().advice.empty());
    return error.parts().field;
  }
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

std::string type_field(std::size_t section) { return std::string("type of section ") + kSectionNames[section]; }

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST(DeviceReader, AllKindsOfFilesReadBack) {
  std::set<int> gates, types;
  for (const auto& kind : test::device_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto parts = test::make_device_file(kind);
    const auto file = assemble(parts);
    const auto info = read_device_info(file.bytes, "model.pnd");
    gates.insert(info.gates);
    EXPECT_EQ(info.features, kind.features);
    EXPECT_EQ(info.attributes, kind.attributes);
    EXPECT_EQ(info.outputs, kind.outputs);
    EXPECT_EQ(info.version, kind.version());
    EXPECT_EQ(info.class_targets, kind.placed());
    EXPECT_EQ(info.semantics, kind.prepared());
    EXPECT_EQ(info.encoding, kind.encoding);
    EXPECT_EQ(info.networks, kind.networks);
    EXPECT_EQ(info.open, kind.open);
    EXPECT_EQ(info.stored_networks, kind.stored);
    EXPECT_EQ(info.classes, kind.classes);
    EXPECT_EQ(info.support, kind.support);
    EXPECT_EQ(info.feature_scaling, kind.feature_scaling);
    EXPECT_EQ(info.semantic_scaling, kind.semantic_scaling);
    EXPECT_EQ(info.gates, kind.gates);
    EXPECT_EQ(info.similarity, kind.similarity);
    EXPECT_EQ(info.networks_see_encoding, (kind.bits & 1) != 0);
    EXPECT_EQ(info.relu, (kind.bits & 2) != 0);
    EXPECT_EQ(info.gamma, 0.25f);
    EXPECT_EQ(info.temperature, 0.5f);
    EXPECT_EQ(info.width, kind.width);
    EXPECT_EQ(info.head_weight, kind.head_weight);
    EXPECT_EQ((std::array{info.example_prior, info.strength, info.sharpness, info.certainty}),
              kind.placed() ? kind.field : (std::array{1.0f, 1.0f, 1.0f, 0.0f}));
    EXPECT_EQ(info.tables, kind.tables);
    EXPECT_EQ(info.source.has_value(), kind.source);
    EXPECT_EQ(info.class_names, parts.class_names);
    EXPECT_EQ(info.attribute_names, parts.attribute_names);
    EXPECT_EQ(info.class_seen, parts.class_seen);
    for (std::size_t i = 0; i < kDeviceParts; ++i) {
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
      const auto values = device_matrix(file.bytes, info, static_cast<DevicePart>(i));
      const auto found = values.values();
      EXPECT_EQ(std::vector<float>(found.begin(), found.end()), parts.sections[i].values);
    }
    const auto networks = device_matrix(file.bytes, info, DevicePart::networks);
    EXPECT_EQ(networks.rows(), kind.stored * kind.outputs);
    EXPECT_EQ(device_matrix(file.bytes, info, DevicePart::bias).rows(), 1u);
  }
  EXPECT_EQ(gates, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(types, (std::set<int>{0, 1, 2, 3, 4}));
}

TEST(DeviceReader, EveryHeaderFieldIsCheckedByItself) {
  struct Case {
    const char* kind;
    std::size_t offset;
    std::uint32_t value;
    const char* field;
  };
  const Case cases[] = {{"always f32", 0, 0x53524150 + 1, "magic"},
                        {"always f32", 4, 0x5354454e + 0x01000000, "magic"},
                        {"always f32", 8, 0, "format version"},
                        {"always f32", 8, 7, "format version"},
                        {"source f32", 8, 1, "reserved"},
                        {"source f32", 8, 5, "prototype support"},
                        {"source int8 classes", 8, 2, "reserved"},
                        {"source int8 classes", 8, 6, "type of section rejection"},
                        {"source rejection", 8, 3, "reserved"},
                        {"source rejection", 8, 5, "reserved"},
                        {"always f32", 8, 3, "prototype support"},
                        {"classes f32", 8, 3, "type of section rejection"},
                        {"rejection f32", 8, 2, "reserved"},
                        {"rejection f32", 8, 1, "reserved"},
                        {"always f32", 8, 2, "prototype support"},
                        {"classes f32", 8, 1, "reserved"},
                        {"always f32", 20, 0, "features"},
                        {"always f32", 20, 65537, "features"},
                        {"always f32", 24, 0, "attributes"},
                        {"always f32", 24, 65537, "attributes"},
                        {"always f32", 28, 0, "outputs"},
                        {"anchor f32 whitened", 28, 65537, "outputs"},
                        {"always f32", 28, 3, "outputs"},
                        {"always f32", 24, 5, "outputs"},
                        {"energy f32 encoded", 32, 65537, "encoding"},
                        {"energy f32 encoded", 36, 0, "networks"},
                        {"energy f32 encoded", 36, 65536, "networks"},
                        {"always f32", 36, 2, "networks"},
                        {"energy f32 encoded", 36, 4, "networks"},
                        {"energy f32 encoded", 40, 0, "open networks"},
                        {"energy f32 encoded", 40, 4, "open networks"},
                        {"energy f32 encoded", 44, 0, "stored networks"},
                        {"energy f32 encoded", 44, 4, "stored networks"},
                        {"always f32", 48, 0, "classes"},
                        {"always f32", 48, 65536, "classes"},
                        {"anchor int8 prototypes", 52, 65537, "prototype support"},
                        {"always f16 dot", 52, 1, "prototype support"},
                        {"always int8 euclidean", 52, 1, "prototype support"},
                        {"always f32", 56, 0, "bytes of the class names"},
                        {"always f32", 56, 0x80000000, "bytes of the class names"},
                        {"always f32", 60, 0xffffffff, "bytes of the attribute names"},
                        {"always f32", 60, 0, "type of section attribute_names"},
                        {"always f32", 68, 4, "bits"},
                        {"always f32", 68, 0x80000000, "bits"},
                        {"always f32", 72, bits_of(1.0000001e6f), "gamma"},
                        {"always f32", 72, bits_of(-1.0000001e6f), "gamma"},
                        {"always f32", 72, bits_of(kNan), "gamma"},
                        {"always f32", 76, bits_of(0), "temperature"},
                        {"always f32", 76, bits_of(-1), "temperature"},
                        {"always f32", 76, bits_of(1e-9f) - 1, "temperature"},
                        {"always f32", 76, bits_of(1e9f) + 1, "temperature"},
                        {"always f32", 76, bits_of(kNan), "temperature"},
                        {"always f32", 80, bits_of(1e-3f) - 1, "prototype width"},
                        {"always f32", 80, bits_of(1e6f) + 1, "prototype width"},
                        {"always f32", 80, bits_of(kNan), "prototype width"},
                        {"always f32", 80, bits_of(0), "prototype width"},
                        {"classes f32", 80, bits_of(1e-3f) - 1, "prototype width"},
                        {"classes f32", 80, bits_of(-1), "prototype width"},
                        {"classes f32", 80, bits_of(kNan), "prototype width"},
                        {"classes f32", 52, 0, "prototype support"},
                        {"classes f32", 64, 0x01000000, "prototype support"},
                        {"classes f32", 84, 0, "semantics"},
                        {"classes f32", 84, 3, "semantics"},
                        {"classes int8 whitened", 84, 65537, "semantics"},
                        {"classes f32", 28, 65537, "outputs"},
                        {"two heads f32", 124, bits_of(1e-6f) - 1, "head weight"},
                        {"two heads f32", 124, bits_of(1e6f) + 1, "head weight"},
                        {"two heads f32", 124, bits_of(-1), "head weight"},
                        {"two heads f32", 124, bits_of(kNan), "head weight"},
                        {"classes f32", 128, bits_of(0), "example prior"},
                        {"classes f32", 128, bits_of(1e6f) + 1, "example prior"},
                        {"classes f32", 132, bits_of(-1), "strength"},
                        {"classes f32", 132, bits_of(kNan), "strength"},
                        {"classes f32", 136, bits_of(0), "sharpness"},
                        {"classes f32", 136, bits_of(1e4f) + 1, "sharpness"},
                        {"classes f32", 140, bits_of(1), "certainty"},
                        {"classes f32", 140, bits_of(-1e-45f), "certainty"},
                        {"classes f32", 140, bits_of(kNan), "certainty"},
                        {"two heads f32", 28, 4, "outputs"},
                        {"classes f32", 124, bits_of(1), "outputs"},
                        {"classes f32", 120, 1, "tables"},
                        {"classes f32", 120, 5, "tables"},
                        {"classes f32", 120, 2, "type of section semantic_tables"},
                        {"classes of three tables", 120, 0, "type of section semantic_tables"},
                        {"always f32", 84, 1, "reserved"},
                        {"always f32", 84, 0x01000000, "reserved"}};
  for (const auto& c : cases) {
    const auto file = assemble(test::make_device_file(kind_named(c.kind)));
    EXPECT_EQ(refused_after(file.bytes, c.offset, c.value), c.field) << c.kind << ": " << c.value << " at " << c.offset;
  }
  const auto file = assemble(test::make_device_file(kind_named("always f32"))).bytes;
  const char* choices[] = {"feature scaling", "semantic scaling", "gates", "similarity"};
  for (std::size_t i = 0; i < 4; ++i)
    for (const int value : {3, 255}) EXPECT_EQ(refused_after_byte(file, 64 + i, value), choices[i]);
  EXPECT_EQ(refused_after_byte(file, 111, 128), "reserved");
  const auto placed = assemble(test::make_device_file(kind_named("classes f32"))).bytes;
  for (std::size_t i = 116; i < 120; ++i) EXPECT_EQ(refused_after_byte(placed, i, 1), "reserved");
  EXPECT_EQ(refused_after_byte(assemble(test::make_device_file(kind_named("rejection f32"))).bytes, 119, 1),
            "reserved");
}

TEST(DeviceReader, TheBoundsOfTheHeaderBelongToIt) {
  const auto file = assemble(test::make_device_file(kind_named("always f32"))).bytes;
  for (const float gamma : {-1e6f, -0.0f, 1e6f}) EXPECT_EQ(refused_after(file, 72, bits_of(gamma)), "");
  for (const float temperature : {1e-9f, 1e9f}) EXPECT_EQ(refused_after(file, 76, bits_of(temperature)), "");
  for (const float width : {1e-3f, 1e6f}) EXPECT_EQ(refused_after(file, 80, bits_of(width)), "");
  for (const std::size_t scaling : {64, 65})
    for (const int value : {0, 1, 2}) EXPECT_EQ(refused_after_byte(file, scaling, value), "");
  for (const int similarity : {0, 1, 2}) EXPECT_EQ(refused_after_byte(file, 67, similarity), "");
  for (const std::uint32_t bits : {0, 1, 2, 3}) EXPECT_EQ(refused_after(file, 68, bits), "");
  const auto placed = assemble(test::make_device_file(kind_named("classes f32"))).bytes;
  for (const float width : {0.0f, -0.0f, 1e-3f, 1e6f}) EXPECT_EQ(refused_after(placed, 80, bits_of(width)), "");
  EXPECT_EQ(refused_after(placed, 124, bits_of(-0.0f)), "");
  for (const std::size_t at : {128, 132, 136})
    for (const float value : {1e-45f, 1e4f}) EXPECT_EQ(refused_after(placed, at, bits_of(value)), "");
  for (const float certainty : {0.0f, -0.0f, 0.99999994f})
    EXPECT_EQ(refused_after(placed, 140, bits_of(certainty)), "");
  const auto heads = assemble(test::make_device_file(kind_named("two heads f32"))).bytes;
  for (const float weight : {1e-6f, 1e6f}) EXPECT_EQ(refused_after(heads, 124, bits_of(weight)), "");
}

TEST(DeviceReader, HowClassesAreMadeUpIsChecked) {
  const auto file = assemble(test::make_device_file(kind_named("classes f32")));
  const auto set = [&](DevicePart part, float value) {
    return refused_after(file.bytes, file.offset[static_cast<std::size_t>(part)] + 4, bits_of(value));
  };
  for (const float good : {0.0f, -0.0f, 1.0f}) {
    EXPECT_EQ(set(DevicePart::class_lengths, good), "");
    EXPECT_EQ(set(DevicePart::class_predicted, good), "");
  }
  EXPECT_EQ(set(DevicePart::class_lengths, std::numeric_limits<float>::max()), "");
  EXPECT_EQ(set(DevicePart::class_lengths, -1e-45f), "class_lengths");
  for (const float bad : {-1e-45f, 1.0000001f}) EXPECT_EQ(set(DevicePart::class_predicted, bad), "class_predicted");
}

TEST(DeviceReader, TheRangeOfEvidenceIsChecked) {
  const auto file = assemble(test::make_device_file(kind_named("rejection f32")));
  const std::size_t at = file.offset[static_cast<std::size_t>(DevicePart::rejection)];
  for (std::size_t i = 0; i < 6; ++i) {
    auto changed = file.bytes;
    test::put_u32(changed, at + 4 * (14 + i), bits_of(0.5f));
    EXPECT_EQ(refused_after(changed, at + 4 * (20 + i), bits_of(0.5f)), "");
    EXPECT_EQ(refused_after(changed, at + 4 * (20 + i), bits_of(0.49f)), "rejection");
  }
  EXPECT_EQ(refused_after(file.bytes, at + 4 * 13, bits_of(1e30f)), "") << "weights may be anything";
  EXPECT_EQ(refused_after(file.bytes, at + 4 * 26, bits_of(1e30f)), "") << "thresholds may be anything";
}

TEST(DeviceReader, TablesHaveAttributesAndTogetherAllOfThem) {
  const auto file = assemble(test::make_device_file(kind_named("classes of three tables")));
  const auto at = file.offset[static_cast<std::size_t>(DevicePart::semantic_tables)];
  const auto set = [&](std::uint32_t first, std::uint32_t second) {
    auto changed = file.bytes;
    test::put_u32(changed, at, first);
    return refused_after(changed, at + 4, second);
  };
  EXPECT_EQ(set(3, 2), "");
  EXPECT_EQ(set(5, 0), "semantic_tables");
  EXPECT_EQ(set(4, 2), "semantic_tables");
  EXPECT_EQ(set(0xffffffff, 6), "semantic_tables") << "a sum that wraps around";
}

TEST(DeviceReader, TheSourceReadsBack) {
  const test::DeviceFileSource written;
  for (const char* kind : {"source f32", "source int8 classes", "source rejection"}) {
    const auto info = read_device_info(assemble(test::make_device_file(kind_named(kind))).bytes, "model.pnd");
    ASSERT_TRUE(info.source) << kind;
    EXPECT_EQ(*info.source, (FeatureSource{written.backbone,
                                           written.sha256,
                                           written.layer,
                                           {PixelPreset::caffe, ImageFit::whole, written.width, written.height},
                                           written.dimensions}))
        << kind;
  }
}

TEST(DeviceReader, EveryFieldOfTheSourceIsChecked) {
  for (const char* kind : {"source f32", "source int8 classes", "source rejection"}) {
    SCOPED_TRACE(kind);
    const auto parts = test::make_device_file(kind_named(kind));
    const auto file = assemble(parts);
    const std::size_t at = parts.header.size() - 16, texts = file.offset[31] + 32, end = file.end[31];
    const auto bytes = static_cast<std::uint32_t>(parts.sections[31].contents.size());
    for (const std::uint32_t size : {0u, 33u, 0x80000000u, 0xffffffffu})
      EXPECT_EQ(refused_after(file.bytes, at, size), "bytes of the source") << size;
    EXPECT_EQ(refused_after(file.bytes, at, bytes - 1), "source") << "the last text has no end";
    EXPECT_EQ(refused_after(file.bytes, at, bytes + 1), "source") << "a zero byte more";
    EXPECT_EQ(refused_after(file.bytes, at, 0x7fffffff), "source") << "more than there is";
    for (const std::uint32_t dimensions : {0u, 100'000'001u})
      EXPECT_EQ(refused_after(file.bytes, at + 4, dimensions), "dimensions of the source");
    EXPECT_EQ(refused_after(file.bytes, at + 4, 100'000'000), "");
    for (const std::uint32_t size : {0u, 1u, 1u << 16, 8192u << 16, 8193u << 16 | 1, 1u << 16 | 8193})
      EXPECT_EQ(refused_after(file.bytes, at + 8, size), "input of the source") << size;
    EXPECT_EQ(refused_after(file.bytes, at + 8, 1u << 16 | 8192), "");
    EXPECT_EQ(refused_after_byte(file.bytes, at + 12, 3), "preset of the source");
    EXPECT_EQ(refused_after_byte(file.bytes, at + 13, 2), "fit of the source");
    for (const int good : {0, 1}) EXPECT_EQ(refused_after_byte(file.bytes, at + 13, good), "");
    for (const std::size_t reserved : {14, 15}) EXPECT_EQ(refused_after_byte(file.bytes, at + reserved, 1), "reserved");
    EXPECT_EQ(refused_after_byte(file.bytes, texts, 0), "source") << "three texts";
    EXPECT_EQ(refused_after_byte(file.bytes, texts + 8, 'x'), "source") << "one text";
    EXPECT_EQ(refused_after_byte(file.bytes, end - 1, 'x'), "source") << "no end";
    EXPECT_EQ(refused_after_byte(file.bytes, end - 2, 1), "") << "names may have any other bytes";
    for (const int hash : {0, 255}) EXPECT_EQ(refused_after_byte(file.bytes, texts - 1, hash), "");
    auto empty = parts;
    empty.sections[31].contents.assign(34, std::byte{0});
    test::put_u32(empty.header, at, 34);
    EXPECT_EQ(refused_field(assemble(empty).bytes), "") << "names may be empty";
  }
}

TEST(DeviceReader, CountsThatDisagreeWithTheContentsAreRefused) {
  for (const auto& kind : test::device_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto file = assemble(test::make_device_file(kind)).bytes;
    for (std::size_t offset = 20; offset <= 84; offset += 4) {
      if (offset == 40 || (offset >= 64 && offset < 84)) continue;  // open networks: any number up to K is right
      for (const std::uint32_t other : {65535u, 65536u, 0x7fffffffu, 0xffffffffu})
        EXPECT_NE(refused_after(file, offset, other), "") << other << " at " << offset;
      // A small file of bytes or halves may have room for one more in its padding; these have not.
      if (std::string(kind.name) != "mixed all parts" && std::string(kind.name) != "energy f32 encoded") continue;
      std::uint32_t value = 0;
      std::memcpy(&value, &file[offset], 4);
      for (const std::uint32_t other : {value + 1, value - 1, value * 2 + 1})
        EXPECT_NE(refused_after(file, offset, other), "") << other << " at " << offset;
    }
  }
}

TEST(DeviceReader, SectionsArePresentExactlyWhenTheyShould) {
  std::map<std::string, int> dropped, added;
  for (const auto& kind : test::device_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto parts = test::make_device_file(kind);
    for (std::size_t i = 0; i < kDeviceParts; ++i) {
      SCOPED_TRACE(kSectionNames[i]);
      if (!parts.has_type(i)) continue;
      if (i == 29) continue;  // optional, but not without its offset: below
      const bool optional = i == 0 || i == 1 || i == 7 || i == 9 || i == 10 || i == 13;
      auto changed = parts;
      if (parts.sections[i].type != 0) {
        changed.sections[i].type = 0;
        const auto field = refused_field(assemble(changed).bytes);
        // A missing `whitening` shows first in the number of outputs, or in the centre that is left.
        if (i == 12)
          EXPECT_TRUE(field == "outputs" || field == "semantics" || field == "type of section whitening_centre")
              << field;
        else
          EXPECT_EQ(field, optional ? "" : type_field(i));
        ++dropped[kSectionNames[i]];
      } else if (!optional && i != 12) {
        changed.sections[i].type = is_bytes(i) ? 4 : 1;
        EXPECT_EQ(refused_field(assemble(changed).bytes), type_field(i));
        ++added[kSectionNames[i]];
      }
    }
  }
  EXPECT_EQ(dropped.size(), kDeviceParts - 1);
  auto spanned = test::make_device_file(kind_named("rejection int8 heads"));
  spanned.sections[29].type = 0;
  EXPECT_EQ(refused_field(assemble(spanned).bytes), type_field(30));
  spanned.sections[30].type = 0;
  EXPECT_EQ(refused_field(assemble(spanned).bytes), "");
  for (const char* name : {"encoder", "anchors", "mixing", "whitening_centre", "prototype_support", "prototype_weights",
                           "attribute_names"})
    EXPECT_GT(added[name], 0) << name;
}

TEST(DeviceReader, SectionsHaveTheTypesOfTheirKind) {
  for (const auto& kind : test::device_kinds()) {
    const auto parts = test::make_device_file(kind);
    for (std::size_t i = 0; i < kDeviceParts; ++i) {
      if (parts.sections[i].type == 0) continue;
      const auto file = assemble(parts).bytes;
      for (const int type : {1, 2, 3, 4, 5, 255}) {
        if (is_bytes(i) ? type == 4 : type == 1 || (is_matrix(i) && type <= 3)) continue;
        EXPECT_EQ(refused_after_byte(file, parts.type_at(i), type), type_field(i)) << kind.name << ", type " << type;
      }
    }
  }
}

TEST(DeviceReader, ValuesThatAreNotFiniteAreRefused) {
  for (const auto& kind : test::device_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto parts = test::make_device_file(kind);
    const auto file = assemble(parts);
    for (std::size_t i = 0; i < kDeviceParts; ++i) {
      SCOPED_TRACE(kSectionNames[i]);
      const int type = parts.sections[i].type;
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
  }
}

TEST(DeviceReader, ClassListsAreChecked) {
  const auto parts = test::make_device_file(kind_named("always f32"));
  const auto file = assemble(parts);
  const auto byte = [&](std::size_t section, std::size_t at, int value) {
    return refused_after_byte(file.bytes, file.offset[section] + at, value);
  };
  EXPECT_EQ(byte(18, 0, 2), "class_seen");
  EXPECT_EQ(byte(18, 2, 255), "class_seen");
  EXPECT_EQ(byte(18, 2, 1), "");
  // The names are zebra, wolfé, wolf: their order is 2, 1, 0.
  EXPECT_EQ(byte(19, 0, 3), "class_order");
  EXPECT_EQ(byte(19, 1, 1), "class_order");
  EXPECT_EQ(byte(19, 0, 1), "class_order");
  EXPECT_EQ(byte(19, 0, 0), "class_order");
  EXPECT_EQ(byte(19, 4, 1), "class_order");
  EXPECT_EQ(byte(21, 0, 0), "class_names");                                         // an empty name
  EXPECT_EQ(byte(21, 2, 0), "class_names");                                         // one name more
  EXPECT_EQ(byte(21, 5, 'x'), "class_names");                                       // one name less
  EXPECT_EQ(byte(21, parts.sections[21].contents.size() - 1, 'x'), "class_names");  // the last does not end
  EXPECT_EQ(byte(22, 0, 0), "attribute_names");
  EXPECT_EQ(byte(22, 1, 0), "attribute_names");
  EXPECT_EQ(byte(22, 4, 'x'), "attribute_names");
  EXPECT_EQ(byte(21, 0, 'a'), "class_order");  // a name that belongs elsewhere

  // Their names begin at 0, 6 and 13.
  EXPECT_EQ(byte(20, 0, 1), "class_name_offsets");
  EXPECT_EQ(byte(20, 4, 7), "class_name_offsets");
  EXPECT_EQ(byte(20, 8, 6), "class_name_offsets");
  EXPECT_EQ(byte(20, 11, 1), "class_name_offsets");

  auto twice = parts;
  twice.sections[20].contents.clear();
  for (const std::uint32_t offset : {0, 4, 8}) test::append_u32(twice.sections[20].contents, offset);
  twice.sections[21].contents.clear();
  for (const std::string name : {"one", "two", "one"}) {
    for (const char c : name) twice.sections[21].contents.push_back(static_cast<std::byte>(c));
    twice.sections[21].contents.push_back(std::byte{0});
  }
  test::put_u32(twice.header, 56, 12);
  for (const auto& order : {std::array{0, 2, 1}, std::array{2, 0, 1}, std::array{0, 1, 1}, std::array{0, 1, 0}}) {
    for (std::size_t i = 0; i < 3; ++i) twice.sections[19].contents[2 * i] = static_cast<std::byte>(order[i]);
    EXPECT_EQ(refused_field(assemble(twice).bytes), "class_order");
  }
}

TEST(DeviceReader, PaddingIsZero) {
  std::size_t padding = 0;
  for (const auto& kind : test::device_kinds()) {
    const auto parts = test::make_device_file(kind);
    const auto file = assemble(parts);
    std::vector<bool> used(file.bytes.size());
    const auto use = [&](std::size_t from, std::size_t count) { std::fill_n(used.begin() + from, count, true); };
    use(0, parts.header.size());
    for (std::size_t i = 0; i < kDeviceParts; ++i) {
      if (parts.sections[i].type == 0) continue;
      use(file.scale_offset[i], parts.sections[i].scales.size());
      use(file.offset[i], parts.sections[i].contents.size());
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i]) continue;
      ++padding;
      EXPECT_EQ(refused_after_byte(file.bytes, i, 1).substr(0, 14), "padding after ") << kind.name << ", offset " << i;
    }
  }
  EXPECT_GT(padding, 100u);
}

TEST(DeviceReader, EveryOtherLengthIsRefused) {
  for (const auto& kind : test::device_kinds()) {
    const auto file = assemble(test::make_device_file(kind)).bytes;
    for (std::size_t size = 0; size < file.size() + 40; ++size) {
      if (size == file.size()) continue;
      auto changed = file;
      changed.resize(size);
      EXPECT_NE(refused_field(changed), "") << kind.name << " with " << size << " bytes";
      test::mend(changed);
      EXPECT_NE(refused_field(changed), "") << kind.name << " with " << size << " bytes, checksum right";
    }
  }
}

TEST(DeviceReader, EveryDamagedByteIsNoticed) {
  for (const auto& kind : test::device_kinds()) {
    auto file = assemble(test::make_device_file(kind)).bytes;
    for (std::size_t i = 0; i < file.size(); ++i) {
      file[i] ^= std::byte{0x10};
      const auto field = refused_field(file);
      const char* expected = i < 8 ? "magic" : i < 12 ? "format version" : i < 16 ? "bytes of the file" : "CRC-32";
      EXPECT_EQ(field, expected) << kind.name << ", offset " << i;
      file[i] ^= std::byte{0x10};
    }
  }
}

TEST(DeviceReader, OtherFilesAreToldApartByTheirFirstBytes) {
  const auto file = assemble(test::make_device_file(kind_named("smallest"))).bytes;
  EXPECT_TRUE(looks_like_device_file(file));
  EXPECT_TRUE(looks_like_device_file(std::span(file).first(8)));
  EXPECT_FALSE(looks_like_device_file(std::span(file).first(7)));
  EXPECT_FALSE(looks_like_device_file(std::span(file).subspan(1)));
  EXPECT_FALSE(looks_like_device_file({}));
  EXPECT_EQ(refused_field(Bytes(200)), "magic");
  EXPECT_EQ(refused_field({}), "magic");
}

}  // namespace parsnets
