#pragma once
// Columns of text in tables for people.

#include <string>
#include <string_view>

namespace parsnets::cli {

/// Characters, not bytes.
std::size_t width_of(std::string_view text);
/// With spaces behind it, up to `width` characters.
std::string padded(const std::string& text, std::size_t width);
/// At most `width` characters; the last one of a longer text is "…".
std::string shortened(const std::string& text, std::size_t width);

}  // namespace parsnets::cli
