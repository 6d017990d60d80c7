#include "serve/request_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/text.hpp"
#include "serve/http.hpp"
#include "serve/json_reader.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostNameBytes = 200;

[[noreturn]] void too_many(const std::string& field, std::size_t most, const char* what) {
  throw HttpError(413, fmt::format("{}: more than {} {}", field, most, what),
                  {field, fmt::format("at most {} {}", most, what), "more"});
}

Among among_of(const std::string& text) {
  if (text == "all") return Among::all;
  if (text == "seen") return Among::seen;
  if (text == "unseen") return Among::unseen;
  throw HttpError({"among", "all, seen or unseen", "'" + text.substr(0, 24) + "'"});
}

std::string class_name(JsonReader& json, const std::string& field) {
  std::string name = json.string(field);
  if (name.empty() || name.size() > kMostNameBytes)
    throw HttpError({field, fmt::format("a name of 1 to {} bytes", kMostNameBytes), fmt::format("{}", name.size())});
  if (std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == 127; }))
    throw HttpError({field, "a name without control characters", "one"});
  return name;
}

std::vector<std::pair<std::string, float>> named_numbers(JsonReader& json, const std::string& field, std::size_t most) {
  std::vector<std::pair<std::string, float>> named;
  json.object(field, [&](const std::string& name) {
    if (named.size() == most) too_many(field, most, "attributes");
    const std::string place = field + "." + name.substr(0, 64);
    const double value = json.number(place);
    if (std::abs(value) > std::numeric_limits<float>::max())
      throw HttpError({place, "a finite 32-bit number", fmt::format("{}", value)});
    named.emplace_back(name, static_cast<float>(value));
  });
  return named;
}

AddedClass added_class(JsonReader& json, const std::string& field, const RequestLimits& limits) {
  AddedClass added;
  bool by_name = true;
  json.object(field, [&](const std::string& key) {
    const std::string place = field + "." + key.substr(0, 64);
    if (key == "class")
      added.name = class_name(json, place);
    else if (key == "like")
      added.like = class_name(json, place);
    else if (key == "attributes" && json.at_object())
      added.named = named_numbers(json, place, limits.attributes);
    else if (key == "attributes") {
      by_name = false;
      json.numbers(place, limits.attributes, added.attributes);
    } else
      throw HttpError({field, "class, like and attributes", "'" + key.substr(0, 64) + "'"});
  });
  if (added.name.empty()) throw HttpError({field, "a class", "none"});
  if (!by_name && added.like)
    throw HttpError({field + ".attributes", "an object of attributes by name beside like", "an array"});
  if (!by_name && added.attributes.size() != limits.attributes)
    throw HttpError({field + ".attributes", fmt::format("{} numbers", limits.attributes),
                     fmt::format("{}", added.attributes.size())});
  return added;
}

TaughtClass taught_class(JsonReader& json, const std::string& field, const RequestLimits& limits,
                         std::unordered_set<std::int32_t>& labelled) {
  TaughtClass taught;
  json.object(field, [&](const std::string& key) {
    if (key == "class")
      taught.name = class_name(json, field + ".class");
    else if (key == "samples" && limits.samples > 0)
      json.array(field + ".samples", [&](std::size_t i) {
        const std::string place = fmt::format("{}.samples[{}]", field, i);
        taught.samples.push_back(static_cast<std::int32_t>(json.integer(place, 0, limits.samples - 1)));
        if (!labelled.insert(taught.samples.back()).second)
          throw HttpError({place, "each sample once", fmt::format("{} again", taught.samples.back())});
      });
    else
      throw HttpError({field, "class, and samples if the server holds some", "'" + key.substr(0, 64) + "'"});
  });
  if (taught.name.empty() || taught.samples.empty())
    throw HttpError({field, "a class and at least one sample", "not both"});
  return taught;
}

BankEdit bank_edit(JsonReader& json, const RequestLimits& limits) {
  BankEdit bank;
  std::unordered_set<std::int32_t> labelled;
  json.object("bank", [&](const std::string& key) {
    if (key == "add")
      json.array("bank.add", [&](std::size_t i) {
        if (i == limits.bank_classes) too_many("bank.add", limits.bank_classes, "classes");
        bank.add.push_back(added_class(json, fmt::format("bank.add[{}]", i), limits));
      });
    else if (key == "remove")
      json.array("bank.remove", [&](std::size_t i) {
        if (i == limits.classes)
          throw HttpError({"bank.remove", fmt::format("at most the {} classes of the model", limits.classes), "more"});
        bank.remove.push_back(class_name(json, fmt::format("bank.remove[{}]", i)));
      });
    else if (key == "teach")
      json.array("bank.teach", [&](std::size_t i) {
        bank.teach.push_back(taught_class(json, fmt::format("bank.teach[{}]", i), limits, labelled));
      });
    else
      throw HttpError({"bank", "add, remove and teach", "'" + key.substr(0, 64) + "'"});
  });
  return bank;
}

void read_features(JsonReader& json, const RequestLimits& limits, PredictRequest& request) {
  request.has_input = true;
  json.array("features", [&](std::size_t i) {
    if (i == limits.batch) too_many("features", limits.batch, "samples");
    const std::size_t before = request.features.size();
    const std::string field = fmt::format("features[{}]", i);
    json.numbers(field, limits.dimensions, request.features);
    if (request.features.size() - before != limits.dimensions)
      throw HttpError(
          {field, fmt::format("{} numbers", limits.dimensions), fmt::format("{}", request.features.size() - before)});
    ++request.rows;
  });
  if (request.rows == 0) throw HttpError({"features", "at least one sample", "none"});
}

void read_samples(JsonReader& json, const RequestLimits& limits, PredictRequest& request) {
  request.has_input = true;
  if (limits.samples == 0) throw HttpError(400, "the server holds no samples", {"samples", "features", "samples"});
  if (json.at_string()) {
    if (json.string("samples") != "all") throw HttpError({"samples", "ids or \"all\"", "another text"});
    for (std::size_t i = 0; i < limits.samples; ++i) request.samples.push_back(static_cast<std::int32_t>(i));
  } else {
    json.array("samples", [&](std::size_t i) {
      if (i == limits.batch) too_many("samples", limits.batch, "samples");
      const std::size_t id = json.integer(fmt::format("samples[{}]", i), 0, limits.samples - 1);
      request.samples.push_back(static_cast<std::int32_t>(id));
    });
  }
  if (request.samples.empty()) throw HttpError({"samples", "at least one sample", "none"});
}

/// None for anything but what base64() makes.
std::optional<std::string> bytes_of_base64(std::string_view text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::uint8_t, 256> values{};
  for (std::size_t i = 0; i < kDigits.size(); ++i) values[static_cast<unsigned char>(kDigits[i])] = std::uint8_t(i);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size() && text[i] != '='; ++i) {
    group = group << 6 | values[static_cast<unsigned char>(text[i])];
    if (i % 4 != 0) bytes += static_cast<char>(group >> (6 - i % 4 * 2) & 255);
  }
  return base64(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;
}

void read_photographs(JsonReader& json, PredictRequest& request) {
  request.has_input = true;
  json.array("photographs", [&](std::size_t i) {
    if (i == RequestLimits::kPhotographs) too_many("photographs", RequestLimits::kPhotographs, "photographs");
    const std::string field = fmt::format("photographs[{}]", i), text = json.string(field);
    auto bytes = bytes_of_base64(text);
    if (!bytes) throw HttpError({field, "an image file as base64", "other characters"});
    request.photographs.push_back(std::move(*bytes));
  });
  if (request.photographs.empty()) throw HttpError({"photographs", "at least one photograph", "none"});
}

double checked_coverage(double coverage) {
  if (coverage > 0 && coverage < 1) return coverage;
  throw HttpError({"coverage", "a number between 0 and 1", fmt::format("{}", coverage)});
}

/// One of the options that a query may have, too; false: none of that name.
bool read_option(JsonReader& json, const std::string& key, const RequestLimits& limits, PredictRequest& request) {
  if (key != "bank" && request.first_option.empty()) request.first_option = key.substr(0, 64);
  if (key == "top")
    request.top = json.integer("top", 1, RequestLimits::kTop);
  else if (key == "among")
    request.among = among_of(json.string("among"));
  else if (key == "reject")
    request.reject = json.boolean("reject");
  else if (key == "coverage")
    request.coverage = checked_coverage(json.number("coverage"));
  else if (key == "attributes")
    request.attributes = json.boolean("attributes");
  else if (key == "return_features")
    request.return_features = json.boolean("return_features");
  else if (key == "bank")
    request.bank = bank_edit(json, limits);
  else
    return false;
  return true;
}

}  // namespace

PredictRequest parse_predict_request(std::string_view text, const RequestLimits& limits) {
  PredictRequest request;
  JsonReader json(text);
  json.object("", [&](const std::string& key) {
    if (key == "features")
      read_features(json, limits, request);
    else if (key == "samples")
      read_samples(json, limits, request);
    else if (key == "photographs")
      read_photographs(json, request);
    else if (!read_option(json, key, limits, request))
      throw HttpError(
          {key.substr(0, 64),
           "features, samples, photographs, top, among, reject, coverage, attributes, return_features or bank",
           "another key"});
  });
  json.finish();
  if ((request.rows > 0) + !request.samples.empty() + !request.photographs.empty() > 1)
    throw HttpError({"samples", "either features, samples or photographs", "more than one of them"});
  return request;
}

PredictRequest parse_predict_query(const std::map<std::string, std::string>& query, const RequestLimits& limits) {
  PredictRequest request;
  for (const auto& [key, value] : query) {
    const std::string quoted = key == "among" ? json_string(value) : value;
    JsonReader json(quoted);
    if (!read_option(json, key, limits, request))
      throw HttpError({key.substr(0, 64), fmt::format("{}", fmt::join(kPredictParameters, ", ")), "another parameter"});
    json.finish();
  }
  return request;
}

BankEdit parse_bank_request(std::string_view text, const RequestLimits& limits) {
  BankEdit bank;
  JsonReader json(text);
  json.object("", [&](const std::string& key) {
    if (key != "bank") throw HttpError({key.substr(0, 64), "bank", "another key"});
    bank = bank_edit(json, limits);
  });
  json.finish();
  if (!bank.teach.empty()) throw HttpError({"bank.teach", "none: the file holds descriptions alone", "examples"});
  return bank;
}

SuggestRequest parse_suggest_request(std::string_view text, const RequestLimits& limits) {
  SuggestRequest request;
  JsonReader json(text);
  json.object("", [&](const std::string& key) {
    if (key == "count")
      request.count = json.integer("count", 1, RequestLimits::kSuggestions);
    else if (key == "bank")
      request.bank = bank_edit(json, limits);
    else
      throw HttpError({key.substr(0, 64), "count or bank", "another key"});
  });
  json.finish();
  return request;
}

}  // namespace parsnets
