#include "base/json_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <vector>

#include "base/file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostBytes = 256u << 20;
constexpr std::size_t kMostLevels = 32;            // deeper ones would exhaust the stack later
constexpr std::size_t kMostContainers = 1u << 20;  // each takes many times the memory of its two characters

/// Builds the value from the parser's events. nlohmann's own parser with a callback goes through all elements of a list
/// after each of them, and its ordered objects through all keys for each new one: both take quadratic time.
template <class Json>
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(typename Json::number_integer_t value) override { return add(value); }
  bool number_unsigned(typename Json::number_unsigned_t value) override { return add(value); }
  bool number_float(typename Json::number_float_t value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(typename Json::binary_t&) override { return false; }  // JSON as text has none

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(std::string& value) override {
    if (!open_.back().keys.insert(value).second)
      throw Error(BadInput{file_, value.substr(0, 80), "each key once", "the key twice", "remove one of the two"});
    key_ = std::move(value);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    std::string_view problem = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    if (const auto name = problem.find("] "); problem.starts_with('[') && name != std::string_view::npos)
      problem.remove_prefix(name + 2);
    throw Error(BadInput{file_, "", "a JSON object", std::string(problem), "correct the JSON"});
  }

 private:
  struct Open {
    Json* value;
    std::set<std::string> keys;  // a hash table could be made to collide
  };

  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  /// An element stays where it is until its list or object gets the next one, which is after it was closed.
  template <class Value>
  Json* place(Value&& value) {
    if (open_.empty()) return &(root_ = Json(std::forward<Value>(value)));
    Json& parent = *open_.back().value;
    if (parent.is_array()) {
      auto& list = parent.template get_ref<typename Json::array_t&>();
      return &list.emplace_back(std::forward<Value>(value));
    }
    auto& object = parent.template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>)
      return &object.emplace_back(std::move(key_), std::forward<Value>(value)).second;
    else
      return &object.emplace(std::move(key_), std::forward<Value>(value)).first->second;
  }

  bool open(Json empty) {
    if (open_.size() == kMostLevels)
      throw Error(BadInput{file_, "", fmt::format("JSON nested at most {} levels deep", kMostLevels), "deeper nesting",
                           "correct the JSON"});
    if (++containers_ > kMostContainers)
      throw Error(BadInput{file_, "", fmt::format("JSON with at most {} objects and lists", kMostContainers),
                           "more of them", "correct the JSON"});
    open_.push_back({place(std::move(empty)), {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  Json root_;
  std::vector<Open> open_;
  std::string key_;
  std::size_t containers_ = 0;
};

template <class Json>
Json parse(std::string_view text, const std::string& file) {
  if (text.size() > kMostBytes)
    throw Error(BadInput{file, "", fmt::format("JSON of at most {} bytes", kMostBytes),
                         fmt::format("{} bytes", text.size()), "correct the JSON"});
  Builder<Json> builder(file);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& file) { return parse<nlohmann::json>(text, file); }

nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& file) {
  return parse<nlohmann::ordered_json>(text, file);
}

nlohmann::json read_json_file(const std::filesystem::path& file) {
  return parse_json(read_text_file(file), file.string());
}

}  // namespace parsnets
