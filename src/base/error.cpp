#include "parsnets/error.hpp"

#include <algorithm>

#include "base/option_name.hpp"
#include "base/text.hpp"
#include "parsnets/progress.hpp"

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
  while (!message.empty()) {
    MessagePart part;
    std::size_t length = read_mention(message, part);
    if (length > 0) {
      parts.push_back(std::move(part));
    } else {
      length = std::min(message.find(kEnd, 1), message.size());
      if (parts.empty() || !parts.back().option.empty()) parts.emplace_back();
      parts.back().text += message.substr(0, length);
    }
    message.remove_prefix(length);
  }
  return parts;
}

std::string with_options(std::string_view message, const OptionWriter& write) {
  std::string text;
  for (const auto& part : message_parts(message))
    text += part.option.empty() ? part.text : write(part.option, part.value);
  return text;
}

namespace {

/// Quoted file contents may hold line breaks or terminal escapes; a message is one plain line.
std::string one_line(const std::string& message) {
  std::string line;
  for (const auto& [text, option, value] : message_parts(message)) {
    line += option.empty() ? escaped(text) : option_name(option, value);
  }
  return line;
}

std::string compose(const BadInput& parts) {
  std::string text = parts.file;
  if (!parts.field.empty()) text += ": " + parts.field;
  text += ": expected " + parts.expected;
  if (!parts.found.empty()) text += ", found " + parts.found;
  if (!parts.advice.empty()) text += "; " + parts.advice;
  return one_line(text);
}

}  // namespace

Error::Error(BadInput parts) : Error(ErrorCode::bad_input, compose(parts)) { parts_ = std::move(parts); }

BadInput Error::parts(const OptionWriter& write) const {
  return {with_options(parts_.file, write), with_options(parts_.field, write), with_options(parts_.expected, write),
          with_options(parts_.found, write), with_options(parts_.advice, write)};
}

void report(ProgressObserver* observer, const ProgressEvent& event) {
  if (observer != nullptr && !observer->on_progress(event))
    throw Error(ErrorCode::cancelled, "interrupted during: " + std::string(event.stage));
}

void report_message(ProgressObserver* observer, std::string_view message) {
  if (observer != nullptr) observer->on_message(message);
}

}  // namespace parsnets
