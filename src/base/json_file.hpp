#pragma once
// JSON from files that others wrote.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace parsnets {

/// Parses `text`; `file` names its source in errors. Refuses what is not JSON and what nests deeper than 32 levels,
/// which would exhaust the stack later.
nlohmann::json parse_json(std::string_view text, const std::string& file);
nlohmann::json read_json_file(const std::filesystem::path& file);

}  // namespace parsnets
