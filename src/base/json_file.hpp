#pragma once
// JSON that others wrote. Time and memory grow with its length only, so a hostile file costs no more than a large one.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace parsnets {

/// Parses `text`; `file` names its source in errors. Throws bad_input for what is not JSON, names a key of an object
/// twice, or has more than 256 MB, 32 levels or 2²⁰ objects and lists.
nlohmann::json parse_json(std::string_view text, const std::string& file);
/// The same with the keys in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& file);
nlohmann::json read_json_file(const std::filesystem::path& file);

}  // namespace parsnets
