#pragma once
// Classes of a device model that were added or removed, as the C runtime saves them (docs/device.md).

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parsnets/device.hpp"

namespace parsnets {

/// What pnrt_bank_load takes beside this file: the model's classes without `removed`, then with `added`, unseen classes
/// with m raw attributes. Throws bad_input for what the runtime refuses.
std::vector<std::byte> saved_bank(const DeviceModel& model, std::span<const std::string> removed,
                                  std::span<const std::pair<std::string, std::span<const float>>> added);

}  // namespace parsnets
