#pragma once
// JSON that others wrote. Time and memory grow with its length only, so a hostile file costs no more than a large one.

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace parsnets {

/// What JSON may have at most.
struct JsonLimits {
  std::size_t bytes = 256u << 20;
  std::size_t depth = 32;  ///< objects and lists within each other: deeper ones would exhaust the stack later
  std::size_t containers = 1u << 20;  ///< objects and lists: each takes many times the memory of its two characters
};

/// Parses `text`; `file` names its source in errors. Throws bad_input for what is not JSON, exceeds the limits or names
/// a key of an object twice.
nlohmann::json parse_json(std::string_view text, const std::string& file, const JsonLimits& limits = {});
/// The same with the keys in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& file,
                                          const JsonLimits& limits = {});
nlohmann::json read_json_file(const std::filesystem::path& file);

}  // namespace parsnets
