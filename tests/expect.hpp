#pragma once
// What tests expect of texts and errors.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "parsnets/error.hpp"

namespace parsnets::test {

/// Whether the text has the part in it; a failure shows both.
inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in '" << text << "'";
}

#define EXPECT_MENTIONS(text, part) EXPECT_TRUE(::parsnets::test::contains(text, part))

/// The error that work() throws, with a message of one line; none: it was not refused.
template <class Work>
std::optional<Error> thrown_by(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return error;
  }
  return std::nullopt;
}

/// Its code. Throws unless there is an error, which fails the test.
template <class Work>
ErrorCode code_of(const Work& work) {
  return thrown_by(work).value().code();
}

/// Its message; "" when there is none. An error has this code.
template <class Work>
std::string message_or_none(const Work& work, ErrorCode code = ErrorCode::bad_input) {
  const auto error = thrown_by(work);
  EXPECT_TRUE(!error || error->code() == code) << error->what();
  return error ? error->what() : "";
}

/// The error with this code that work() throws; a test in which it throws none has failed.
template <class Work>
Error error_of(const Work& work, ErrorCode code = ErrorCode::bad_input) {
  const auto error = thrown_by(work);
  if (!error)
    ADD_FAILURE() << "no error";
  else
    EXPECT_EQ(error->code(), code) << error->what();
  return error.value_or(Error(ErrorCode::failure, "no error"));
}

/// Its message.
template <class Work>
std::string error_message(const Work& work, ErrorCode code = ErrorCode::bad_input) {
  return error_of(work, code).what();
}

/// Such an error with this part in its message.
template <class Work>
void expect_error(const Work& work, std::string_view part = "", ErrorCode code = ErrorCode::bad_input) {
  EXPECT_MENTIONS(error_message(work, code), part);
}

/// Whether a call finds bad input; other errors fail the test.
template <class Work>
bool is_refused(const Work& work) {
  const auto error = thrown_by(work);
  EXPECT_TRUE(!error || error->code() == ErrorCode::bad_input) << error->what();
  return error.has_value();
}

}  // namespace parsnets::test
