#pragma once
// What reads bytes of strangers, by name.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace parsnets::fuzz {

/// Reads bytes as a reader of this name would, and returns whether it took them. Refusals are caught. Ends the process
/// when the reader takes longer than its input allows, when two readers of one format disagree, or when what was
/// written again reads as something else.
using Target = bool (*)(std::span<const std::byte> bytes);
const std::map<std::string, Target>& targets();

/// Runs the target, with the limit of time.
bool run(Target target, std::span<const std::byte> bytes);

}  // namespace parsnets::fuzz
