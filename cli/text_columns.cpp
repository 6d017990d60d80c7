#include "text_columns.hpp"

#include <algorithm>

namespace parsnets::cli {

namespace {

bool starts_character(char byte) { return (byte & 0xC0) != 0x80; }  // in UTF-8

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string shortened(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; characters < width; ++end)
    if (starts_character(text[end])) ++characters;
  return text.substr(0, end - 1) + "…";
}

}  // namespace parsnets::cli
