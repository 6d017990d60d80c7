#pragma once
// Errors that tests expect, and what they say.

#include <gtest/gtest.h>

#include <string>

#include "parsnets/error.hpp"

namespace parsnets::test {

/// The message, a line, of the error with this code that `body` throws; a failed test (and "") when it throws none.
template <class Body>
std::string error_message(ErrorCode code, Body body) {
  try {
    body();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "";
}

template <class Body>
std::string bad_input_message(Body body) {
  return error_message(ErrorCode::bad_input, body);
}

inline testing::AssertionResult mentions(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "message: " << message << "\nlacks: " << part;
}

#define EXPECT_MENTIONS(message, part) EXPECT_TRUE(::parsnets::test::mentions(message, part))

}  // namespace parsnets::test
