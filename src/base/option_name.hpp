#pragma once
// Messages as interfaces take them apart: texts and mentions of options.

#include <string>
#include <string_view>
#include <vector>

#include "parsnets/error.hpp"

namespace parsnets {

/// A part of a message: either plain text or a mention of an option.
struct MessagePart {
  std::string text;    ///< empty for a mention
  std::string option;  ///< empty for text
  std::string value;   ///< of the option; may be empty
};

/// The message as texts and mentions, in order.
std::vector<MessagePart> message_parts(std::string_view message);

}  // namespace parsnets
