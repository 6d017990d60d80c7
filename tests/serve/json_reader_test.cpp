#include "serve/json_reader.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "serve/http.hpp"

namespace {

using namespace parsnets;

std::vector<float> numbers_of(const std::string& text) {
  JsonReader json(text);
  std::vector<float> values;
  json.numbers("x", 1000, values);
  json.finish();
  return values;
}

}  // namespace

TEST(JsonReader, NumbersAreTheFloatsThatAnotherReaderFinds) {
  std::mt19937 random(1);
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) value = static_cast<float>(i);
    char digits[64];
    std::snprintf(digits, sizeof digits,
                  i % 3 == 0   ? "%.9g"
                  : i % 3 == 1 ? "%.17g"
                               : "%.3e",
                  static_cast<double>(value));
    text += (i > 0 ? "," : "[") + std::string(digits);
  }
  text += "]";
  const auto expected = nlohmann::json::parse(text).get<std::vector<double>>();
  const auto found = numbers_of(text);
  ASSERT_EQ(found.size(), 1000u);
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], static_cast<float>(expected[i]), std::abs(expected[i]) * 1e-7) << i;
}

TEST(JsonReader, EveryFormOfANumber) {
  EXPECT_EQ(numbers_of("[ 0 , -0.5,1e2 ,1E-2,\n12.5e+1]"), (std::vector<float>{0, -0.5f, 100, 0.01f, 125}));
  EXPECT_EQ(numbers_of("[1e-50, -1e-999, 1e-46]"), (std::vector<float>{0, 0, 0})) << "too small is zero";
  EXPECT_EQ(numbers_of("[]"), std::vector<float>());
  for (const char* text :
       {"[01]",  "[1.]", "[.5]", "[+1]", "[1e]", "[0x1]",   "[NaN]",  "[1e39]", "[1e999]", "[-]",    "[1,]",  "[,1]",
        "[1 2]", "[1",   "[",    "",     "1",    "[\"1\"]", "[1.e2]", "[--1]",  "[1]]",    "[1e5e]", "[null]"})
    EXPECT_THROW(numbers_of(text), HttpError) << text;
}

TEST(JsonReader, StringsHaveTheirEscapes) {
  const std::string text = R"("a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é")";
  EXPECT_EQ(JsonReader(text).string(""), nlohmann::json::parse(text).get<std::string>());
  for (const char* wrong :
       {"\"", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "\"\xff\"",
        "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "'a'"})
    EXPECT_THROW(JsonReader(wrong).string(""), HttpError) << wrong;
}

TEST(JsonReader, ErrorsNameTheirPlace) {
  JsonReader json("{\"a\":[1,true]}");
  std::vector<float> values;
  try {
    json.object("", [&](const std::string& key) { json.numbers(key, 9, values); });
    FAIL();
  } catch (const HttpError& e) {
    EXPECT_EQ(e.status(), 400);
    EXPECT_EQ(e.place().field, "a[1]");
    EXPECT_EQ(e.place().expected, "a number");
    EXPECT_EQ(e.place().found, "true or false");
  }
}

TEST(JsonReader, NestingIsBounded) {
  const std::string deep(100000, '[');
  JsonReader json(deep);
  const std::function<void(std::size_t)> down = [&](std::size_t) { json.array("x", down); };
  EXPECT_THROW(down(0), HttpError);
}
