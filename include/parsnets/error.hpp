#pragma once
// The one error type of the library. The numeric value of a code is the CLI's exit code.

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace parsnets {

/// The kind of an error.
enum class ErrorCode : int {
  failure = 1,     ///< the work itself failed (disk full, solver did not converge, a bug)
  usage = 2,       ///< an option or argument is invalid
  bad_input = 3,   ///< a file or array is missing, malformed or inconsistent
  cancelled = 130  ///< the progress observer asked to stop
};

/// The parts of a bad-input message. `file` and `expected` are always given; the others may be empty.
struct BadInput {
  std::string file;      ///< path of the file (with `:line` or a member name where that helps)
  std::string field;     ///< variable, column, key or byte range inside it
  std::string expected;  ///< what would have been valid
  std::string found;     ///< what is there
  std::string advice;    ///< what to do about it
};

/// A mention of an option, or of an option with a value, to be put into the message of an Error. The library names an
/// option by its identifier, such as "max-bytes"; every interface writes it in its own way: --max-bytes on the command
/// line, max_bytes in Python.
std::string option_name(std::string_view option, std::string_view value = {});

/// How an interface writes an option; `value` may be empty.
using OptionWriter = std::function<std::string(std::string_view option, std::string_view value)>;

/// 'max-bytes', or missing = zero with a value.
std::string neutral_option(std::string_view option, std::string_view value);
/// --max-bytes, or --missing zero with a value.
std::string flag_option(std::string_view option, std::string_view value);
/// The message with every mention of an option written by `write`.
std::string with_options(std::string_view message, const OptionWriter& write);

/// What every function of the library throws. what() and, by default, message() and parts() name options neutrally; an
/// interface passes its own writer.
class Error : public std::runtime_error {
 public:
  /// An error without parts. `message` may contain mentions of options, see option_name().
  Error(ErrorCode code, std::string message)
      : std::runtime_error(with_options(message, neutral_option)), code_(code), message_(std::move(message)) {}
  /// An error with code bad_input whose message is composed of the parts.
  explicit Error(BadInput parts);

  /// Its kind.
  ErrorCode code() const noexcept { return code_; }
  /// The message with its options written by `write`.
  std::string message(const OptionWriter& write = neutral_option) const { return with_options(message_, write); }
  /// The parts, written in the same way; empty unless the error was made from BadInput.
  BadInput parts(const OptionWriter& write = neutral_option) const;

 private:
  ErrorCode code_;
  std::string message_;  ///< with its mentions of options
  BadInput parts_;
};

}  // namespace parsnets
