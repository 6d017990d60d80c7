#include "eval/model_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "data/feature_source.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

std::size_t tested(const Indices& trained, const Split& split) {
  std::size_t count = 0;
  for (const auto* list : {&split.test_seen, &split.test_unseen})
    count += static_cast<std::size_t>(
        std::ranges::count_if(*list, [&](std::int32_t s) { return std::ranges::binary_search(trained, s); }));
  return count;
}

/// Whether b = factor·a up to rounding; a factor of 0 is set by the first value that is not zero.
bool proportional(std::span<const float> a, std::span<const float> b, double& factor) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (factor == 0 && a[i] != 0) factor = static_cast<double>(b[i]) / a[i];
    if (std::abs(b[i] - factor * a[i]) > 1e-5 * std::abs(b[i])) return false;
  }
  return true;
}

/// Nothing when the record of an older model file tells only that the lists of training samples differ.
std::optional<std::size_t> count_trained_samples(const Model& model, const Dataset& data) {
  const DataProvenance& record = model.record.data;
  if (const auto trained = samples_from_hex(record.trained_samples); !trained.empty()) {
    const bool same = static_cast<std::size_t>(trained.back()) < data.samples() &&
                      features_checksum(data.features, trained) == record.trained_crc32;
    return same ? tested(trained, data.split) : 0;
  }
  if (record.samples != data.samples() || record.dimensions != data.features.cols() ||
      record.features != data.features_name)
    return 0;
  Indices trainval = data.split.trainval;
  if (record.split.trainval.second != fmt::format("{:08x}", index_checksum(trainval))) return std::nullopt;
  std::ranges::sort(trainval);
  return tested(trainval, data.split);
}

void check_semantics(const Model& model, const Dataset& data) {
  const std::string& trained = model.record.data.semantics;
  const auto& values = data.semantics.values;
  const bool same_size = values.cols() == model.attributes();
  if (trained.empty() || (trained == data.semantics.name && same_size)) return;
  double factor = 0;  // the same for all classes: 0 to 100 in one place may be 0 to 1 in another
  const auto places = bank_places(model.classes.names, data);
  for (std::size_t c = 0; c < data.classes(); ++c) {
    const auto place = static_cast<std::size_t>(places[c]);
    if (places[c] < 0 || !model.classes.seen[place]) continue;  // unseen ones come and go with 'classes add'
    if (same_size && proportional(values.row(c), model.classes.semantics.row(place), factor)) continue;
    throw Error(BadInput{data.name, "semantics",
                         fmt::format("those of the model, '{}' ({} attributes)", trained, model.attributes()),
                         fmt::format("'{}' ({} attributes)", data.semantics.name, values.cols()),
                         "load the data set with the semantics of training (" + option_name("semantics") + ")"});
  }
}

}  // namespace

void check_source(const Model& model, const Dataset& data) {
  require_same_source(model.record.data.source, data.source, features_source(data));
}

std::int64_t check_test_data(const Model& model, const Dataset& data, bool allow_trained_samples) {
  check_source(model, data);
  check_semantics(model, data);
  const auto count = count_trained_samples(model, data);
  if (!allow_trained_samples && count != std::size_t{0}) {
    const std::size_t tests = data.split.test_seen.size() + data.split.test_unseen.size();
    const std::string found =
        count ? fmt::format("{} of {} that it was trained on", *count, tests)
              : fmt::format(
                    "a list of training samples that differs from the model's (checksum {:08x}, the model has {})",
                    index_checksum(data.split.trainval), model.record.data.split.trainval.second);
    throw Error(BadInput{data.name, "split", "test samples that the model was not trained on", found,
                         "evaluate with the split of training, or use " + option_name("allow-trained-samples")});
  }
  return count ? static_cast<std::int64_t>(*count) : -1;
}

std::vector<std::int32_t> bank_places(const std::vector<std::string>& names, const Dataset& data) {
  std::unordered_map<std::string_view, std::int32_t> place;
  for (std::size_t c = 0; c < names.size(); ++c) place.emplace(names[c], static_cast<std::int32_t>(c));
  std::vector<std::int32_t> places;
  for (const auto& name : data.class_names) places.push_back(place.contains(name) ? place[name] : -1);
  return places;
}

void refuse_class(const Dataset& data, std::int32_t c, const std::string& expected, const std::string& found,
                  const std::string& advice) {
  throw Error(
      BadInput{data.name, "class '" + data.class_names[static_cast<std::size_t>(c)] + "'", expected, found, advice});
}

void warn_of_learning(const Model& model, std::vector<std::string>& warnings) {
  if (is_adapted(model))
    warnings.push_back("the model has been adapted to unlabelled samples: these are not inductive results");
  if (is_taught(model)) warnings.push_back("the model has been taught examples: these are not zero-shot results");
}

}  // namespace parsnets
