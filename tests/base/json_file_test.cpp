#include "base/json_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "expect.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

std::string list_of(std::size_t count, const std::string& item) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + item;
  return text + "]";
}

std::string object_of(std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
  return text + "}";
}

/// Processor time, the least of a few runs: other programs on the machine do not count.
double cost(const std::function<void()>& work) {
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    const std::clock_t start = std::clock();
    work();
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

BadInput refusal_of(const std::string& text) {
  SCOPED_TRACE(text.substr(0, 80));
  return test::error_of([&] { parse_json(text, "some.json"); }).parts();
}

}  // namespace

TEST(JsonFile, ValuesOfEveryKindAreRead) {
  const auto json =
      parse_json(R"( {"b": [1, -2, 3.5, true, null, "x\u00e4"], "a": {"c": {}, "d": []}, "e": [[], {}]} )", "f");
  EXPECT_EQ(json.dump(), R"({"a":{"c":{},"d":[]},"b":[1,-2,3.5,true,null,"xä"],"e":[[],{}]})");
  EXPECT_TRUE(json["b"][0].is_number_unsigned());
  EXPECT_EQ(parse_json("7", "f"), 7);
  EXPECT_EQ(parse_ordered_json(R"({"b": 1, "a": {"d": 2, "c": 3}})", "f").dump(), R"({"b":1,"a":{"d":2,"c":3}})");
}

TEST(JsonFile, TimeGrowsWithTheLength) {
  const std::size_t count = 3000, times = 16;  // 16 times the work, where quadratic time would take 256 times
  const std::vector<std::pair<const char*, std::function<std::string(std::size_t)>>> shapes{
      {"a list of objects", [](std::size_t n) { return list_of(n, "{}"); }},
      {"an object of objects", object_of},
      {"a list of numbers", [](std::size_t n) { return list_of(n, "1"); }}};
  for (const auto& [name, text] : shapes)
    for (const bool ordered : {false, true}) {
      const std::string small = text(count), large = text(times * count);
      const auto read = [&](const std::string& json) {
        return cost([&] { ordered ? (void)parse_ordered_json(json, "f") : (void)parse_json(json, "f"); });
      };
      EXPECT_LT(read(large), (read(small) + 1e-3) * 80) << name << (ordered ? ", in order" : "");
    }
}

TEST(JsonFile, LimitsHold) {
  const std::string deepest = std::string(32, '[') + std::string(32, ']');
  EXPECT_NO_THROW(parse_json(deepest, "f"));
  EXPECT_EQ(refusal_of("[" + deepest + "]").expected, "JSON nested at most 32 levels deep");
  EXPECT_EQ(refusal_of(std::string(100'000, '[')).expected, "JSON nested at most 32 levels deep");
  // 8 MB are spare; more is paid with text, or with the file that the text is a part of.
  EXPECT_NO_THROW(parse_json(list_of(100'000, "{}"), "f"));
  EXPECT_NO_THROW(parse_json(list_of(1'000'000, "1234567"), "f"));
  const std::string many = list_of(1'000'000, "1");
  EXPECT_EQ(refusal_of(many).file, "some.json");
  EXPECT_TRUE(refusal_of(many).expected.starts_with("JSON whose values take at most 12388"));
  EXPECT_NO_THROW(parse_json(many, "f", 8u << 20));
  for (const char* item : {"{}", "[]", "\"\"", "{\"\":0}"})
    EXPECT_TRUE(refusal_of(list_of(400'000, item)).expected.starts_with("JSON whose values take")) << item;
  EXPECT_EQ(refusal_of(std::string((256u << 20) + 1, ' ')).found, "268435457 bytes");
}

TEST(JsonFile, KeysAreThereOnce) {
  const auto twice = refusal_of(R"({"a": {"key": 1}, "b": {"key": 1, "other": 2, "key": 3}})");
  EXPECT_EQ(twice.field, "key");
  EXPECT_EQ(twice.expected, "each key once");
  EXPECT_THROW(parse_ordered_json(R"({"a": 1, "a": 1})", "f"), Error);
}

TEST(JsonFile, WhatIsNotJsonIsRefusedWithItsPlace) {
  test::TempDir dir;
  write_text_file(dir / "bad.json", "{\"a\": 1,\n \"b\" 2}");
  const BadInput bad = test::error_of([&] { read_json_file(dir / "bad.json"); }).parts();
  EXPECT_EQ(bad.file, (dir / "bad.json").string());
  EXPECT_TRUE(bad.found.starts_with("parse error at line 2")) << bad.found;
  for (const char* text : {"", "{", "[1,]", "{} {}", "nul", "\"\xff\"", "1e999"})
    EXPECT_FALSE(refusal_of(text).expected.empty()) << text;
}

}  // namespace parsnets
