#pragma once
// Options in messages. The library names an option by its identifier, such as "max-bytes"; every interface writes it in
// its own way: --max-bytes on the command line, max_bytes in Python.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

/// A mention of an option, or of an option with a value, to be put into the message of an Error.
std::string option_name(std::string_view option, std::string_view value = {});

/// How an interface writes an option; `value` may be empty.
using OptionWriter = std::function<std::string(std::string_view option, std::string_view value)>;

/// 'max-bytes', or missing = zero with a value.
std::string neutral_option(std::string_view option, std::string_view value);
/// --max-bytes, or --missing zero with a value.
std::string flag_option(std::string_view option, std::string_view value);

/// A part of a message: either plain text or a mention of an option.
struct MessagePart {
  std::string text;    ///< empty for a mention
  std::string option;  ///< empty for text
  std::string value;   ///< of the option; may be empty
};

/// The message as texts and mentions, in order.
std::vector<MessagePart> message_parts(std::string_view message);

/// The message with every mention of an option written by `write`.
std::string with_options(std::string_view message, const OptionWriter& write);

}  // namespace parsnets
