#pragma once
// JSON of requests, read in one pass without a tree: a batch of samples is mostly numbers, which go straight to floats.
// What is rare, strings and unusual numbers, is left to nlohmann-json.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

/// Reads the value at hand; a wrong kind, broken syntax (RFC 8259), bytes that are not UTF-8 and more than 16 levels
/// throw HttpError 400 naming `field`. Refers to the text.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  /// Calls `member` with each key; it must read the value. A key that comes twice is an error.
  void object(const std::string& field, const std::function<void(const std::string& key)>& member);
  /// Calls `element` for each element; it must read it.
  void array(const std::string& field, const std::function<void(std::size_t index)>& element);
  /// Appends an array of at most `most` finite numbers.
  void numbers(const std::string& field, std::size_t most, std::vector<float>& out);
  double number(const std::string& field);
  /// A whole number from `low` to `high`.
  std::size_t integer(const std::string& field, std::size_t low, std::size_t high);
  bool boolean(const std::string& field);
  std::string string(const std::string& field);
  bool at_string() { return kind() == '"'; }
  bool at_object() { return kind() == '{'; }
  /// After the value there is nothing more.
  void finish();

 private:
  char kind();  ///< first character of the next value, '\0' at the end
  [[noreturn]] void wrong(const std::string& field, const std::string& expected);
  void expect(char c, const std::string& field, const char* expected);
  bool float_here(float& value);
  std::string found();

  const char* at_;
  const char* end_;
  std::size_t depth_ = 0;
};

/// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace parsnets
