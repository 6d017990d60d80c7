#pragma once
// What calls that must be refused throw.

#include <optional>

#include "parsnets/error.hpp"

namespace parsnets::test {

/// The error that a call throws; none: it was not refused.
template <class Call>
std::optional<Error> error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Its code. Throws unless there is an error, which fails the test.
template <class Call>
ErrorCode code_of(const Call& call) {
  return error_of(call).value().code();
}

}  // namespace parsnets::test
