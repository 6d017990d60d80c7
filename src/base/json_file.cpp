#include "base/json_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "base/file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostBytes = 256u << 20;
constexpr std::size_t kMostLevels = 32;     // deeper ones would exhaust the stack later
constexpr std::uint64_t kSpare = 8u << 20;  // what any value may take; more has to be paid with text

// What values take beside their own 16 bytes: strings and containers are allocated, and so are entries of objects.
constexpr std::uint64_t kScalar = 16, kContainer = 64, kString = 48, kEntry = 96, kShortest = 16;

/// What both passes refuse.
template <class Json>
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  bool binary(typename Json::binary_t&) override { return false; }  // JSON as text has none

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    std::string_view problem = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    if (const auto name = problem.find("] "); problem.starts_with('[') && name != std::string_view::npos)
      problem.remove_prefix(name + 2);
    throw Error(BadInput{file_, "", "a JSON object", std::string(problem), "correct the JSON"});
  }

 protected:
  const std::string& file_;
};

/// The first pass: how large each object and list is, and what all values take, before any of it is taken.
template <class Json>
class Measure : public Reader<Json> {
 public:
  Measure(const std::string& file, std::uint64_t most) : Reader<Json>(file), most_(most) {}

  std::vector<std::uint32_t> take_sizes() { return std::move(sizes_); }

  bool null() override { return add(0); }
  bool boolean(bool) override { return add(0); }
  bool number_integer(typename Json::number_integer_t) override { return add(0); }
  bool number_unsigned(typename Json::number_unsigned_t) override { return add(0); }
  bool number_float(typename Json::number_float_t, const std::string&) override { return add(0); }
  bool string(std::string& value) override { return add(kString + outside(value)); }
  bool key(std::string& value) override { return take(kEntry - kScalar + outside(value)); }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }

 private:
  /// What a string keeps outside of itself.
  static std::uint64_t outside(const std::string& text) { return text.size() < kShortest ? 0 : text.size() + kScalar; }

  bool take(std::uint64_t bytes) {
    taken_ += bytes;
    if (taken_ > most_)
      throw Error(BadInput{this->file_, "", fmt::format("JSON whose values take at most {} bytes of memory", most_),
                           "more of them", "correct the JSON"});
    return true;
  }
  bool add(std::uint64_t bytes) {
    if (!open_.empty()) ++sizes_[open_.back()];
    return take(kScalar + bytes);
  }
  bool open() {
    if (open_.size() == kMostLevels)
      throw Error(BadInput{this->file_, "", fmt::format("JSON nested at most {} levels deep", kMostLevels),
                           "deeper nesting", "correct the JSON"});
    add(kContainer);
    open_.push_back(sizes_.size());
    sizes_.push_back(0);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::uint64_t most_;
  std::uint64_t taken_ = 0;
  std::vector<std::uint32_t> sizes_;  // in the order in which they begin
  std::vector<std::size_t> open_;
};

/// The second pass builds the value from the parser's events. nlohmann's own parser with a callback goes through all
/// elements of a list after each of them, and its ordered objects through all keys for each new one: both take
/// quadratic time.
template <class Json>
class Builder : public Reader<Json> {
 public:
  Builder(const std::string& file, std::vector<std::uint32_t> sizes) : Reader<Json>(file), sizes_(std::move(sizes)) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(typename Json::number_integer_t value) override { return add(value); }
  bool number_unsigned(typename Json::number_unsigned_t value) override { return add(value); }
  bool number_float(typename Json::number_float_t value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }

  bool start_object(std::size_t) override {
    Json* const object = place(Json::object());
    if constexpr (kOrdered) object->template get_ref<typename Json::object_t&>().reserve(sizes_[opened_]);
    return open(object);
  }
  bool end_object() override {
    if constexpr (kOrdered) refuse_repeated();
    return close();
  }
  bool start_array(std::size_t) override {
    Json* const list = place(Json::array());
    list->template get_ref<typename Json::array_t&>().reserve(sizes_[opened_]);
    return open(list);
  }
  bool end_array() override { return close(); }

  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }

 private:
  static constexpr bool kOrdered = std::is_same_v<Json, nlohmann::ordered_json>;

  [[noreturn]] void refuse_twice(const std::string& key) const {
    throw Error(BadInput{this->file_, key.substr(0, 80), "each key once", "the key twice", "remove one of the two"});
  }
  void refuse_repeated() const {  // a hash table could be made to collide
    std::vector<std::string_view> keys;
    for (const auto& entry : open_.back()->template get_ref<const typename Json::object_t&>())
      keys.push_back(entry.first);
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) refuse_twice(std::string(*twice));
  }

  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  /// An element stays where it is: its list or object has room for all.
  template <class Value>
  Json* place(Value&& value) {
    if (open_.empty()) return &(root_ = Json(std::forward<Value>(value)));
    Json& parent = *open_.back();
    if (parent.is_array()) {
      auto& list = parent.template get_ref<typename Json::array_t&>();
      return &list.emplace_back(std::forward<Value>(value));
    }
    auto& object = parent.template get_ref<typename Json::object_t&>();
    if constexpr (kOrdered) {
      return &object.emplace_back(std::move(key_), std::forward<Value>(value)).second;
    } else {
      const auto [entry, is_new] = object.emplace(std::move(key_), std::forward<Value>(value));
      if (!is_new) refuse_twice(entry->first);
      return &entry->second;
    }
  }

  bool open(Json* container) {
    ++opened_;
    open_.push_back(container);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::vector<std::uint32_t> sizes_;
  std::size_t opened_ = 0;
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

template <class Json>
Json parse(std::string_view text, const std::string& file, std::uint64_t file_bytes) {
  if (text.size() > kMostBytes)
    throw Error(BadInput{file, "", fmt::format("JSON of at most {} bytes", kMostBytes),
                         fmt::format("{} bytes", text.size()), "correct the JSON"});
  Measure<Json> measure(file, kSpare + 2 * std::max<std::uint64_t>(text.size(), file_bytes));
  Json::sax_parse(text, &measure);
  Builder<Json> builder(file, measure.take_sizes());
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& file, std::uint64_t file_bytes) {
  return parse<nlohmann::json>(text, file, file_bytes);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& file) {
  return parse<nlohmann::ordered_json>(text, file, 0);
}

nlohmann::json read_json_file(const std::filesystem::path& file) {
  return parse_json(read_text_file(file), file.string());
}

}  // namespace parsnets
