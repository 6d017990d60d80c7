#pragma once
// The one error type of the library. The numeric value of a code is the CLI's exit code.

#include <stdexcept>
#include <string>
#include <utility>

namespace parsnets {

/// The kind of an error.
enum class ErrorCode : int {
  failure = 1,     ///< the work itself failed (disk full, solver broke down, a bug)
  usage = 2,       ///< an option or argument is impossible
  bad_input = 3,   ///< a file or array is missing, malformed or inconsistent
  cancelled = 130  ///< the progress observer asked to stop
};

/// The parts of a bad-input message. `file` and `expected` are always given; the others may be empty.
struct BadInput {
  std::string file;      ///< path of the file at fault (with `:line` or a member name where that helps)
  std::string field;     ///< variable, column, key or byte range inside it
  std::string expected;  ///< what would have been right
  std::string found;     ///< what is there
  std::string advice;    ///< what to do about it
};

/// What every function of the library throws.
class Error : public std::runtime_error {
 public:
  /// An error without parts.
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// An error with code bad_input whose message is composed of the parts.
  explicit Error(BadInput parts);

  /// Its kind.
  ErrorCode code() const noexcept { return code_; }
  /// Empty parts unless the error was made from BadInput.
  const BadInput& parts() const noexcept { return parts_; }

 private:
  ErrorCode code_;
  BadInput parts_;
};

}  // namespace parsnets
