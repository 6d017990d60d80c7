#pragma once
// The device file (docs/device.md) as this library reads it. It shares the tables of the layout with the runtime that
// is given such files on a device, but no code, so that the verdicts of the two can be compared.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsnets/feature_source.hpp"
#include "parsnets_rt.h"

namespace parsnets {

/// The sections in the order of the file.
enum class DevicePart : std::uint8_t {
#define PARSNETS_PART(kind, name, rows, columns, present, meaning) name,
  PNRT_SECTIONS(PARSNETS_PART)
#undef PARSNETS_PART
};

inline constexpr std::size_t kDeviceHashBytes = 32;  ///< at the start of the source
inline constexpr std::size_t kDeviceEvidence = 6;    ///< numbers that rejection judges a sample by

/// What the header says, but for the types of sections.
struct DeviceHeader {
  PNRT_SIZES(PNRT_SIZE_FIELD)
  PNRT_NUMBERS(PNRT_NUMBER_FIELD)
  PNRT_CHOICES(PNRT_CHOICE_FIELD)
};

struct DeviceSection {
  const char* name = "";           ///< as docs/device.md has it
  std::uint8_t type = 0;           ///< a pnrt_type
  std::size_t rows = 0, cols = 0;  ///< of values; a vector is 1 x n
  std::size_t offset = 0;          ///< of the values, from the start of the file
  std::size_t scale_offset = 0;    ///< of the row scales; int8 alone has them

  bool present() const { return type != PNRT_ABSENT; }
};

/// A checked device file.
struct DeviceInfo : DeviceHeader {
  std::array<DeviceSection, PNRT_SECTION_COUNT> sections;
  std::optional<FeatureSource> source;                    ///< what made the features of training; none: not known
  std::vector<std::string> class_names, attribute_names;  ///< C; m or none
  std::vector<std::uint8_t> class_seen;                   ///< C

  const DeviceSection& section(DevicePart part) const { return sections[static_cast<std::size_t>(part)]; }
};

/// Checks all that docs/device.md says of a file; `name` is used in errors. Throws Error(bad_input).
DeviceInfo read_device_info(std::span<const std::byte> bytes, const std::string& name);

}  // namespace parsnets
