#include "parsnets/error.hpp"

#include "base/option_name.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

namespace {

/// Quoted file contents may hold line breaks or terminal escapes; a message is one plain line.
std::string one_line(const std::string& message) {
  std::string line;
  for (auto& [text, option, value] : message_parts(message)) {
    for (char& c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    line += option.empty() ? text : option_name(option, value);
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
