#pragma once
// The device file (docs/device.md) as this library reads it. It shares no code with the runtime that is given such
// files on a device, so that the verdicts of the two can be compared.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/device_magic.hpp"
#include "parsnets/feature_source.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets {

/// The sections by their numbers in docs/device.md.
enum class DevicePart : std::uint8_t {
  feature_mean,
  feature_factor,
  encoder,
  anchors,
  networks,
  network_bias,
  mixing,
  shared,
  bias,
  semantic_mean,
  semantic_factor,
  whitening_centre,
  whitening,
  semantic_centre,
  prototype_support,
  prototype_weights,
  class_vectors,
  class_attributes,
  class_seen,
  class_order,
  class_name_offsets,
  class_names,
  attribute_names,
  attribute_head,  // from here on not in version 1
  attribute_offset,
  class_lengths,
  class_predicted,
  semantic_tables,
  rejection,  // from here on in version 3 alone
  span,
  span_offset,
  source  // in versions 4 to 6, which are 1 to 3 with a source
};

inline constexpr std::size_t kDeviceParts = 32, kDeviceParts3 = 31, kDeviceParts2 = 28, kDeviceParts1 = 23;
inline constexpr std::size_t kDeviceHeaderBytes = 144, kDeviceHeaderBytes1 = 112;  ///< since version 2; of 1
inline constexpr std::uint32_t kDeviceVersions = 3;                                ///< without a source
inline constexpr std::size_t kDeviceSourceHeaderBytes = 16;                        ///< behind the others, with a source
inline constexpr std::size_t kDeviceHashBytes = 32;                                ///< at the start of the source
inline constexpr std::size_t kDeviceHeadWeightAt = 124, kDeviceFieldAt = 128;      ///< since version 2
inline constexpr std::size_t kDeviceEvidence = 6;  ///< numbers that rejection judges a sample by

struct DeviceSection {
  const char* name = "";           ///< as docs/device.md has it
  std::uint8_t type = 0;           ///< 0 absent, 1 f32, 2 f16, 3 int8, 4 bytes
  std::size_t rows = 0, cols = 0;  ///< of values (or bytes); a vector is 1 x n
  std::size_t offset = 0;          ///< of the values, from the start of the file
  std::size_t scale_offset = 0;    ///< of the row scales; int8 alone has them

  bool present() const { return type != 0; }
};

/// A checked device file. Numbers that name a choice are those of the header.
struct DeviceInfo {
  std::uint32_t version = 1;            ///< of the format, 1 to 3: that of a file with a source as if it had none
  bool class_targets = false;           ///< since version 2: predictions are places in class space
  std::optional<FeatureSource> source;  ///< what made the features of training; none: not known
  std::uint32_t features = 0, attributes = 0, outputs = 0, semantics = 0, encoding = 0;  ///< d, m, o, q, h
  std::uint32_t networks = 0, open = 0, stored_networks = 0;                             ///< K, k, r
  std::uint32_t classes = 0, support = 0;                                                ///< C, S
  std::uint8_t feature_scaling = 0, semantic_scaling = 0, gates = 0, similarity = 0;
  bool networks_see_encoding = false, relu = false;
  float gamma = 0, temperature = 0, width = 0;
  float head_weight = 0;                                                ///< of the semantic head; 0: none
  float example_prior = 1, strength = 1, sharpness = 1, certainty = 0;  ///< κ_t, β, τ, θ; since version 2
  std::array<DeviceSection, kDeviceParts> sections;
  std::vector<std::uint32_t> tables;                      ///< attributes of each table; none: one table
  std::vector<std::string> class_names, attribute_names;  ///< C; m or none
  std::vector<std::uint8_t> class_seen;                   ///< C

  const DeviceSection& section(DevicePart part) const { return sections[static_cast<std::size_t>(part)]; }
};

/// Checks all that docs/device.md says of a file; `name` is used in errors. Throws Error(bad_input).
DeviceInfo read_device_info(std::span<const std::byte> bytes, const std::string& name);

/// Copy of a vector (1 x n) or matrix as float32; empty if it is absent or consists of bytes. `info` must have been
/// read from `bytes`. An int8 value whose scale is near the largest float may come out infinite.
Matrix<float> device_matrix(std::span<const std::byte> bytes, const DeviceInfo& info, DevicePart part);

}  // namespace parsnets
