#include "base/option_name.hpp"

#include <algorithm>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

// A mention is kEnd option kEnd, or kEnd option kValue value kEnd: control characters, which no message contains.
constexpr char kEnd = '\x1e', kValue = '\x1f';

bool is_identifier(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

/// The mention that `text` starts with, and its length; 0 when it starts with none, as in the content of a file.
std::size_t read_mention(std::string_view text, MessagePart& part) {
  if (!text.starts_with(kEnd)) return 0;
  const std::size_t end = text.find(kEnd, 1);
  if (end == std::string_view::npos) return 0;
  const std::string_view inside = text.substr(1, end - 1);
  const std::size_t divider = std::min(inside.find(kValue), inside.size());
  if (!is_identifier(inside.substr(0, divider))) return 0;
  part.option = inside.substr(0, divider);
  part.value = inside.substr(std::min(divider + 1, inside.size()));
  return end + 1;
}

}  // namespace

std::string option_name(std::string_view option, std::string_view value) {
  std::string mention = kEnd + std::string(option);
  if (!value.empty()) mention += kValue + std::string(value);
  return mention + kEnd;
}

std::string neutral_option(std::string_view option, std::string_view value) {
  return value.empty() ? "'" + std::string(option) + "'" : std::string(option) + " = " + std::string(value);
}

std::string flag_option(std::string_view option, std::string_view value) {
  return "--" + std::string(option) + (value.empty() ? "" : " ") + std::string(value);
}

std::vector<MessagePart> message_parts(std::string_view message) {
  std::vector<MessagePart> parts;
  bool in_text = false;
  while (!message.empty()) {
    MessagePart part;
    if (const std::size_t length = read_mention(message, part)) {
      parts.push_back(std::move(part));
      message.remove_prefix(length);
      in_text = false;
      continue;
    }
    if (!in_text) parts.emplace_back();
    in_text = true;
    const std::size_t next = std::min(message.find(kEnd, 1), message.size());
    parts.back().text += message.substr(0, next);
    message.remove_prefix(next);
  }
  return parts;
}

std::string with_options(std::string_view message, const OptionWriter& write) {
  std::string text;
  for (const auto& part : message_parts(message))
    text += part.option.empty() ? part.text : write(part.option, part.value);
  return text;
}

}  // namespace parsnets
