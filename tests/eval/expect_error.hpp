#pragma once
// Calls that must fail.

#include <gtest/gtest.h>

#include <string>

#include "parsnets/error.hpp"

namespace parsnets::test {

/// The message of the error, which has this code; empty when there is none.
template <class Call>
std::string error_of(Call call, ErrorCode code = ErrorCode::bad_input) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

/// An error with this code and this part of its message.
template <class Call>
void expect_error(Call call, const std::string& part = "", ErrorCode code = ErrorCode::bad_input) {
  const std::string message = error_of(call, code);
  EXPECT_NE(message, "") << "no error; expected one with: " << part;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

}  // namespace parsnets::test
