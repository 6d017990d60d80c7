#pragma once
// What a request asks for: from the JSON of its body, or from its query.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsnets/predictor.hpp"

namespace parsnets {

/// What a request may be at most, and what fits the model.
struct RequestLimits {
  std::size_t dimensions = 0, attributes = 0;  ///< numbers per sample and per class
  std::size_t batch = 4096;                    ///< samples of a request
  std::size_t samples = 0;                     ///< that the server holds
  std::size_t bank_classes = 64;               ///< that a request may add
  std::size_t classes = 0;                     ///< of the model: no more can be removed
  static constexpr std::size_t kTop = 1000;    ///< classes per sample
  static constexpr std::size_t kPhotographs = 64;
  static constexpr std::size_t kSuggestions = 100;
};

/// Attributes are in the user's scale, and are given in one of two ways: all in the order of the model, or by name.
struct AddedClass {
  std::string name;
  std::vector<float> attributes = {};    ///< all of them; empty: by name
  std::optional<std::string> like = {};  ///< class whose attributes hold where none is named
  std::vector<std::pair<std::string, float>> named = {};
};

/// Samples of the server that a person labelled.
struct TaughtClass {
  std::string name;
  std::vector<std::int32_t> samples;  ///< ids
};

/// Changes of the class bank that hold for one request.
struct BankEdit {
  std::vector<AddedClass> add;
  std::vector<std::string> remove;
  std::vector<TaughtClass> teach = {};
  bool empty() const { return add.empty() && remove.empty() && teach.empty(); }
};

/// The body of /v1/suggest.
struct SuggestRequest {
  std::size_t count = 6;  ///< samples to label, at most
  BankEdit bank = {};
};

struct PredictRequest {
  std::vector<float> features;           ///< n x d
  std::size_t rows = 0;                  ///< n
  std::vector<std::int32_t> samples;     ///< ids, in place of features
  std::vector<std::string> photographs;  ///< image files, in place of features
  bool has_input = false;                ///< one of these was given
  std::size_t top = 5;
  Among among = Among::all;
  bool reject = false;
  std::optional<double> coverage;
  bool attributes = false, return_features = false;
  std::string first_option;  ///< that was given, beside `bank`; empty: none
  BankEdit bank;
};

/// What a query can have in place of the keys of a JSON body.
inline constexpr std::array kPredictParameters{"top",        "among",           "reject", "coverage",
                                               "attributes", "return_features", "bank"};

/// The body of /v1/predict and /v1/explain. Throws HttpError 400, 413 for too many samples or classes.
PredictRequest parse_predict_request(std::string_view json, const RequestLimits& limits);
/// The same without features and samples, from the parameters of a query; `bank` is JSON.
PredictRequest parse_predict_query(const std::map<std::string, std::string>& query, const RequestLimits& limits);
/// {"bank": {…}}, which teaches nothing.
BankEdit parse_bank_request(std::string_view json, const RequestLimits& limits);
SuggestRequest parse_suggest_request(std::string_view json, const RequestLimits& limits);

}  // namespace parsnets
