#include "serve/edited_bank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/row_blocks.hpp"
#include "base/text.hpp"
#include "device/device_bank.hpp"
#include "model/prediction.hpp"
#include "parsnets/field.hpp"
#include "serve/http.hpp"
#include "serve/json_reader.hpp"

namespace parsnets {

namespace {

/// Equal for equal edits alone.
std::string key_of(const BankEdit& edit) {
  std::string key;
  const auto add_text = [&](const std::string& text) { key += fmt::format("{}:{}", text.size(), text); };
  for (const auto& name : edit.remove) add_text(name);
  key += '|';
  for (const auto& added : edit.add) {
    add_text(added.name);
    key.append(reinterpret_cast<const char*>(added.attributes.data()), added.attributes.size() * sizeof(float));
  }
  key += '|';
  for (const auto& taught : edit.teach) {
    add_text(taught.name);
    key += fmt::format("{};", fmt::join(taught.samples, ","));
  }
  return key;
}

constexpr std::size_t kMostCompared = 10'000;  // names among which the nearest one is looked for

[[noreturn]] void unknown_name(const std::string& field, const char* expected, const std::string& name,
                               const std::vector<std::string>& names) {
  const std::string shown = "'" + name.substr(0, 64) + "'";
  const std::string meant = names.size() > kMostCompared ? "" : did_you_mean(name, names);
  throw HttpError(400, fmt::format("{}: expected {}, found {}{}", field, expected, shown, meant),
                  {field, expected, shown});
}

}  // namespace

ServedBank::ServedBank(Model with_classes, PreparedClasses classes)
    : model(std::move(with_classes)),
      prepared(std::make_shared<const PreparedClasses>(std::move(classes))),
      predictor(model, prepared),
      ranking(model) {
  for (std::size_t c = 0; c < model.classes.names.size(); ++c)
    opened.push_back(fmt::format("{{\"class\":{},\"seen\":{},\"score\":", json_string(model.classes.names[c]),
                                 model.classes.seen[c] != 0));
}

EditedBanks::EditedBanks(Model model, ThreadPool& pool, MatrixView<const float> samples) : samples_(samples) {
  PreparedClasses prepared = model.prepare_classes(pool);
  original_ = std::make_shared<const ServedBank>(std::move(model), std::move(prepared));
}

std::shared_ptr<const ServedBank> EditedBanks::after(const BankEdit& edit, ThreadPool& pool) const {
  if (edit.empty()) return original_;
  const std::string key = key_of(edit);
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, key, &decltype(kept_)::value_type::first);
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front().second;
    }
  }
  const bool teaches = !edit.teach.empty(), adds = !teaches && !edit.add.empty();
  const auto before = teaches ? after({edit.add, edit.remove}, pool)
                      : adds  ? after({{}, edit.remove}, pool)  // kept: while one is edited, the others stay
                              : original_;
  Model model = shared_copy(before->model);
  if (teaches) {
    for (const auto& taught : edit.teach) teach(model, taught.name, gather_rows(samples_, taught.samples).view(), pool);
  } else if (adds) {
    std::vector<std::string> names;
    Matrix<float> values(edit.add.size(), model.attributes());
    for (const auto& added : edit.add) {
      std::ranges::copy(added.attributes, values.row(names.size()).begin());
      names.push_back(added.name);
    }
    model.add_classes(names, values.view());
  } else {
    model.remove_classes(edit.remove);
  }
  auto prepared = adds ? model.prepare_added_classes(*before->prepared, pool) : model.prepare_classes(pool);
  const auto made = std::make_shared<const ServedBank>(std::move(model), std::move(prepared));
  std::lock_guard lock(mutex_);
  kept_.emplace_front(key, made);
  if (kept_.size() > kKept) kept_.pop_back();
  return made;
}

BankNames::BankNames(const Model& model) : model_(model) {
  for (std::size_t a = 0; a < model.attributes(); ++a)
    attributes_.push_back(a < model.attribute_names.size() ? model.attribute_names[a]
                                                           : fmt::format("attribute {}", a + 1));
  for (std::size_t a = 0; a < attributes_.size(); ++a) attribute_places_.emplace(attributes_[a], a);
  for (std::size_t c = 0; c < model.classes.names.size(); ++c) class_places_.emplace(model.classes.names[c], c);
}

BankEdit BankNames::resolved(BankEdit edit) const {
  check_removed(edit);
  check_added(edit);
  check_taught(edit);
  for (std::size_t i = 0; i < edit.add.size(); ++i) name_attributes(edit.add[i], fmt::format("bank.add[{}]", i));
  return edit;
}

void BankNames::check_removed(const BankEdit& edit) const {
  std::unordered_set<std::string_view> removed;
  for (std::size_t i = 0; i < edit.remove.size(); ++i) {
    const std::string& name = edit.remove[i];
    const std::string field = fmt::format("bank.remove[{}]", i);
    if (!class_places_.contains(name)) unknown_name(field, "a class of the model", name, model_.classes.names);
    if (!removed.insert(name).second) throw HttpError({field, "each class once", "'" + name + "' again"});
    if (removed.size() == class_places_.size())
      throw HttpError({field, "at least one class that stays", "the last one"});
  }
}

void BankNames::check_added(const BankEdit& edit) const {
  const std::unordered_set<std::string_view> removed(edit.remove.begin(), edit.remove.end());
  std::unordered_set<std::string_view> added;
  for (std::size_t i = 0; i < edit.add.size(); ++i) {
    const std::string &name = edit.add[i].name, field = fmt::format("bank.add[{}].class", i);
    if (name == "unknown")
      throw HttpError(400, field + ": 'unknown' is reserved for samples of no class",
                      {field, "another name", "'unknown'"});
    if (class_places_.contains(name) && !removed.contains(name))
      throw HttpError({field, "a new name", "'" + name + "', a class of the model"});
    if (!added.insert(name).second) throw HttpError({field, "a new name", "'" + name + "' again"});
  }
}

void BankNames::check_taught(const BankEdit& edit) const {
  for (std::size_t i = 0; i < edit.teach.size(); ++i) {
    const std::string& name = edit.teach[i].name;
    const bool stays = class_places_.contains(name) && std::ranges::find(edit.remove, name) == edit.remove.end();
    if (!stays && std::ranges::find(edit.add, name, &AddedClass::name) == edit.add.end())
      unknown_name(fmt::format("bank.teach[{}].class", i), "a class of the bank", name, model_.classes.names);
  }
}

/// What attributes have that are not named: those of the class that it is like. Without such a class, they are NaN.
std::vector<float> BankNames::start_of(const AddedClass& added, const std::string& field) const {
  if (!added.like) return std::vector<float>(attributes_.size(), std::numeric_limits<float>::quiet_NaN());
  const auto found = class_places_.find(*added.like);
  if (found == class_places_.end())
    unknown_name(field + ".like", "a class of the model", *added.like, model_.classes.names);
  if (!is_described(model_.classes, found->second))
    throw HttpError({field + ".like", "a class with attributes", "'" + *added.like + "', known by examples alone"});
  const auto row = model_.classes.semantics.row(found->second);
  return {row.begin(), row.end()};
}

void BankNames::name_attributes(AddedClass& added, const std::string& field) const {
  if (!added.attributes.empty()) return;  // all of them, by their order
  std::vector<float> values = start_of(added, field);
  for (const auto& [name, value] : added.named) {
    const auto found = attribute_places_.find(name);
    if (found == attribute_places_.end())
      unknown_name(field + ".attributes", "an attribute of the model", name, attributes_);
    values[found->second] = value;
  }
  for (std::size_t a = 0; a < values.size(); ++a)
    if (std::isnan(values[a]))
      throw HttpError(400,
                      fmt::format("{}.attributes: '{}' is missing; give all {} attributes, or the class to start from "
                                  "as `like`",
                                  field, attributes_[a], values.size()),
                      {field + ".attributes", fmt::format("all {} attributes, or like", values.size()),
                       fmt::format("no '{}'", attributes_[a])});
  added.attributes = std::move(values);
}

std::string DeviceBanks::saved(const BankEdit& edit, Precision precision, ThreadPool& pool) const {
  if (!possible())
    throw HttpError(400, "only models of class space have banks for devices", {"format", "table", "device"});
  std::vector<std::pair<std::string, std::span<const float>>> added;
  for (const AddedClass& one : edit.add) added.emplace_back(one.name, one.attributes);
  const std::vector<std::byte> bytes = saved_bank(device(precision, pool), edit.remove, added);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const DeviceModel& DeviceBanks::device(Precision precision, ThreadPool& pool) const {
  std::lock_guard lock(mutex_);
  auto& made = devices_[precision];
  if (!made) {
    ExportOptions options;
    options.precision = precision;
    made = std::make_unique<const DeviceModel>(export_model(model_, nullptr, options, pool).file, "the device file");
  }
  return *made;
}

AttributeScale::AttributeScale(const Model& model) {
  const std::size_t m = model.attributes();
  const SemanticPreprocess& prepare = model.semantic_preprocess;
  const bool whitened = model.targets == Targets::semantics && !prepare.whitening.empty();
  std::vector<double> x(m), y(m), xx(m), xy(m);
  std::vector<float> scaled(m), b(whitened ? model.semantic_outputs() : 0);
  double count = 0;
  for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
    if (model.classes.seen[c] == 0 || !is_described(model.classes, c)) continue;
    const auto given = model.classes.semantics.row(c);
    std::ranges::copy(given, scaled.begin());
    prepare.apply(scaled);
    if (whitened) {
      prepare.whiten(scaled, b);
      prepare.expand(b, scaled);
    }
    ++count;
    for (std::size_t j = 0; j < m; ++j) {
      const double s = scaled[j], g = given[j];
      x[j] += s;
      y[j] += g;
      xx[j] += s * s;
      xy[j] += s * g;
    }
  }
  for (std::size_t j = 0; j < m; ++j) {
    const double n = std::max(count, 1.0), variance = xx[j] - x[j] * x[j] / n;
    const double slope = variance > 1e-12 * xx[j] ? (xy[j] - x[j] * y[j] / n) / variance : 0;
    slope_.push_back(static_cast<float>(slope));
    offset_.push_back(static_cast<float>((y[j] - slope * x[j]) / n));
  }
}

void AttributeScale::to_user(std::span<float> predicted) const {
  for (std::size_t j = 0; j < predicted.size(); ++j) predicted[j] = predicted[j] * slope_[j] + offset_[j];
}

}  // namespace parsnets
