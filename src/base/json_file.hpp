#pragma once
// JSON that others wrote. Time and memory grow with its length only, so a hostile file costs no more than a large one.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace parsnets {

/// Parses `text`; `file` names its source in errors. Throws bad_input for what is not JSON, names a key of an object
/// twice, has more than 256 MB or 32 levels, or would take more memory than 8 MB and twice its length, or twice
/// `file_bytes`, the size of a file that holds the text among other things, if that is more.
nlohmann::json parse_json(std::string_view text, const std::string& file, std::uint64_t file_bytes = 0);
/// The same with the keys in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& file);
nlohmann::json read_json_file(const std::filesystem::path& file);

}  // namespace parsnets
