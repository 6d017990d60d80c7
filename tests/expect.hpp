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

/// An error with this code and this part of its message.
template <class Work>
void expect_error(Work work, std::string_view part = "", ErrorCode code = ErrorCode::bad_input) {
  EXPECT_TRUE(contains(error_of(work, code).what(), part));
}

}  // namespace parsnets::test
