#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::string compose(const BadInput& parts) {
  std::string text = parts.file;
  if (!parts.field.empty()) text += ": " + parts.field;
  text += ": expected " + parts.expected;
  if (!parts.found.empty()) text += ", found " + parts.found;
  if (!parts.advice.empty()) text += "; " + parts.advice;
  // Quoted file contents may hold line breaks or terminal escapes; a message is one plain line.
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

}  // namespace

Error::Error(BadInput parts)
    : std::runtime_error(compose(parts)), code_(ErrorCode::bad_input), parts_(std::move(parts)) {}

}  // namespace parsnets
