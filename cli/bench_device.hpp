#pragma once
// export --bench: what a prediction costs with the C runtime, one sample at a time on one core.

#include <cstdint>
#include <string>

#include "command.hpp"
#include "parsnets/device.hpp"

namespace parsnets::cli {

/// Time, memory, operations and a checksum of the outputs. `file` is for messages; without an `input` of features,
/// random ones are drawn. Throws bad_input, also for features of another backbone.
Output bench_device(const DeviceModel& model, const std::string& file, const std::string& input, std::uint64_t seed,
                    ProgressObserver* progress);

}  // namespace parsnets::cli
