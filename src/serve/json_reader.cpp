#include "serve/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "serve/http.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostLevels = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

char JsonReader::kind() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

std::string JsonReader::found() {
  switch (const char c = kind()) {
    case '\0': return at_ == end_ ? "the end of the text" : "a NUL byte";
    case '{': return "an object";
    case '[': return "an array";
    case '"': return "a string";
    case 't':
    case 'f': return "true or false";
    case 'n': return "null";
    default: {
      const char* last = std::find_if(at_, end_, [](char d) { return std::strchr(",]}: \n\r\t", d) != nullptr; });
      const auto length = std::min<std::size_t>(static_cast<std::size_t>(last - at_), 24);
      return static_cast<unsigned char>(c) < 0x80 ? "'" + std::string(at_, std::max<std::size_t>(length, 1)) + "'"
                                                  : "other bytes";
    }
  }
}

void JsonReader::wrong(const std::string& field, const std::string& expected) {
  throw HttpError(HttpErrorPlace{field, expected, found()});
}

void JsonReader::expect(char c, const std::string& field, const char* expected) {
  if (kind() != c) wrong(field, expected);
  ++at_;
}

void JsonReader::object(const std::string& field, const std::function<void(const std::string&)>& member) {
  expect('{', field, "an object");
  if (++depth_ > kMostLevels) wrong(field, fmt::format("at most {} levels", kMostLevels));
  std::unordered_set<std::string> known;
  for (bool first = true; kind() != '}' || !first; first = false) {
    if (kind() != '"') wrong(field, "a key in quotes");
    const std::string key = string(field);
    if (!known.insert(key).second) throw HttpError({field, "each key once", "'" + key.substr(0, 64) + "' twice"});
    expect(':', field, "':' after a key");
    member(key);
    if (kind() == '}') break;
    expect(',', field, "',' or '}'");
  }
  ++at_;
  --depth_;
}

void JsonReader::array(const std::string& field, const std::function<void(std::size_t)>& element) {
  expect('[', field, "an array");
  if (++depth_ > kMostLevels) wrong(field, fmt::format("at most {} levels", kMostLevels));
  for (std::size_t index = 0; kind() != ']' || index > 0; ++index) {
    element(index);
    if (kind() == ']') break;
    expect(',', field, "',' or ']'");
  }
  ++at_;
  --depth_;
}

/// The usual number, quickly; false: nothing was read, and number() tells why.
bool JsonReader::float_here(float& value) {
  const char* first = at_ + (*at_ == '-' ? 1 : 0);
  if (end_ - first < 2 || !is_digit(*first) || (*first == '0' && is_digit(first[1]))) return false;
  const auto [last, failed] = std::from_chars(at_, end_, value);
  if (failed != std::errc() || last == end_ || (*last != ',' && *last != ']')) return false;
  const void* point = std::memchr(first, '.', static_cast<std::size_t>(last - first));
  if (point != nullptr && !is_digit(static_cast<const char*>(point)[1])) return false;
  at_ = last;
  return true;
}

void JsonReader::numbers(const std::string& field, std::size_t most, std::vector<float>& out) {
  expect('[', field, "an array of numbers");
  if (depth_ + 1 > kMostLevels) wrong(field, fmt::format("at most {} levels", kMostLevels));
  for (std::size_t index = 0; kind() != ']' || index > 0; ++index) {
    float value = 0;
    if (kind() == '\0') wrong(field, "',' or ']'");
    if (index >= most) throw HttpError({field, fmt::format("{} numbers", most), "more"});
    if (!float_here(value)) {
      const std::string place = fmt::format("{}[{}]", field, index);
      const char* const start = at_;
      const double wide = number(place);
      if (std::abs(wide) > std::numeric_limits<float>::max()) {
        at_ = start;
        wrong(place, "a finite 32-bit number");
      }
      value = static_cast<float>(wide);
    }
    out.push_back(value);
    const char next = at_ != end_ && *at_ == ',' ? ',' : kind();
    if (next == ']') break;
    if (next != ',') wrong(field, "',' or ']'");
    ++at_;
  }
  ++at_;
}

double JsonReader::number(const std::string& field) {
  kind();
  const char* const last = std::find_if_not(
      at_, end_, [](char c) { return is_digit(c) || std::string_view("+-.eE").find(c) != std::string_view::npos; });
  if (last == at_) wrong(field, "a number");
  const auto value = nlohmann::json::parse(at_, last, nullptr, false);
  if (!value.is_number()) wrong(field, "a finite number");
  at_ = last;
  return value.get<double>();
}

std::size_t JsonReader::integer(const std::string& field, std::size_t low, std::size_t high) {
  kind();
  const char* const start = at_;
  const double value = kind() == '-' || is_digit(kind()) ? number(field) : -1;
  if (value >= static_cast<double>(low) && value <= static_cast<double>(high) && value == std::floor(value))
    return static_cast<std::size_t>(value);
  at_ = start;
  wrong(field, fmt::format("a whole number from {} to {}", low, high));
}

bool JsonReader::boolean(const std::string& field) {
  kind();
  for (const std::string_view word : {"true", "false"})
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) {
      at_ += word.size();
      return word == "true";
    }
  wrong(field, "true or false");
}

std::string JsonReader::string(const std::string& field) {
  if (kind() != '"') wrong(field, "a string");
  const char* last = at_ + 1;
  while (last != end_ && *last != '"') last += *last == '\\' && last + 1 != end_ ? 2 : 1;
  if (last == end_) throw HttpError({field, "a string", "one without an end"});
  try {
    const auto text = nlohmann::json::parse(at_, ++last);
    at_ = last;
    return text.get<std::string>();
  } catch (const nlohmann::json::parse_error& error) {  // "… - invalid string: what is wrong; last read: …"
    const std::string_view why = error.what();
    const auto from = why.find("invalid string"), end = why.find("; last read");
    throw HttpError({field, "a string", std::string(why.substr(from, end - from))});
  }
}

void JsonReader::finish() {
  if (kind() != '\0' || at_ != end_) wrong("", "nothing after the JSON value");
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace parsnets
