#pragma once
// Text from data files: UTF-8 checked and decoded, and quoted so that an error message stays one readable line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace parsnets {

/// Appends the code point as UTF-8; returns false (appending nothing) for surrogates and values above U+10FFFF.
bool append_utf8(std::string& text, std::uint32_t code_point);
/// Decodes the code point at `position` and moves past it; nullopt where the bytes are not UTF-8.
std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& position);
bool is_utf8(std::string_view text);
/// For terminals: control characters, line ends and broken bytes as \xNN.
std::string escaped(std::string_view text);
/// 'text' for messages: control characters and broken bytes escaped, cut after about 40 bytes.
std::string in_quotes(std::string_view text);

}  // namespace parsnets
