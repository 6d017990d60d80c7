#pragma once
// What tests expect of texts and errors.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "parsnets/error.hpp"

namespace parsnets::test {

/// Whether the text has the part in it; a failure shows both.
inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in '" << text << "'";
}

/// The error that work() throws, with that code; a test in which it throws none has failed.
template <class Work>
Error error_of(Work work, ErrorCode code = ErrorCode::bad_input) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::failure, "no error");
}

/// The message, a line, of that error.
template <class Work>
std::string error_message(ErrorCode code, Work work) {
  const std::string message = error_of(work, code).what();
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

template <class Work>
std::string bad_input_message(Work work) {
  return error_message(ErrorCode::bad_input, work);
}

/// Whether a call finds bad input; other errors fail the test.
template <class Work>
bool is_refused(Work work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
    return true;
  }
  return false;
}

#define EXPECT_MENTIONS(message, part) EXPECT_TRUE(::parsnets::test::contains(message, part))

}  // namespace parsnets::test
