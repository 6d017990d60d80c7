#pragma once
// Text of users and data files: UTF-8 checked and decoded, quoted as a CSV cell, and quoted so that an error message
// stays one readable line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace parsnets {

/// Appends the code point as UTF-8; returns false (appending nothing) for surrogates and values above U+10FFFF.
bool append_utf8(std::string& text, std::uint32_t code_point);
/// Decodes the code point at `position` and moves past it; nullopt where the bytes are not UTF-8.
std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& position);
bool is_utf8(std::string_view text);
/// For terminals: control characters, line ends and broken bytes as \xNN. Where that becomes longer than `longest`,
/// what is left of it is "…".
std::string escaped(std::string_view text, std::size_t longest = std::string::npos);
/// The same for text of several lines, which keeps its line ends and tabs.
std::string escaped_lines(std::string_view text);
/// 'text' for messages: control characters and broken bytes escaped, cut after about 40 bytes.
std::string in_quotes(std::string_view text);
/// Throws bad_input unless each name can be shown as it is, in one line of a terminal: control characters could act on
/// it.
void require_printable(const std::vector<std::string>& names, const std::string& file, const std::string& field);
/// The parts between the separators, also empty ones: one more than there are separators.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separators);
/// Without blanks, tabs and carriage returns at both ends.
std::string_view trim(std::string_view text);
/// ASCII letters in lower case; the locale has no say.
std::string in_lower_case(std::string_view text);
/// As a cell of a CSV line or an item of a comma-separated list: in quotes, doubled inside, where it needs them.
std::string csv_cell(std::string_view text);

/// Bytes as base64, as data: URLs have them.
std::string base64(std::string_view bytes);

/// Where each name stands in the list, first if it does twice. The names must outlive the result.
std::unordered_map<std::string_view, std::size_t> places_by_name(const std::vector<std::string>& names);

// What somebody may have meant who mistyped a name.

/// "; did you mean 'train'?" for the nearest of `names`, or "" if none is near: at most one slip (a letter too many,
/// too few, wrong, or two exchanged) for every three letters. `prefix` is put before the name, such as "--".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, const std::string& prefix = "");

}  // namespace parsnets
