#include "serve/bank_names.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/did_you_mean.hpp"
#include "serve/http.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostCompared = 10'000;  // names among which the nearest one is looked for

[[noreturn]] void unknown_name(const std::string& field, const char* expected, const std::string& name,
                               const std::vector<std::string>& names) {
  const std::string shown = "'" + name.substr(0, 64) + "'";
  const std::string meant = names.size() > kMostCompared ? "" : did_you_mean(name, names);
  throw HttpError(400, fmt::format("{}: expected {}, found {}{}", field, expected, shown, meant),
                  {field, expected, shown});
}

}  // namespace

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
    const std::string &name = edit.add[i].name, field = fmt::format("bank.add[{}].name", i);
    if (name == "unknown")
      throw HttpError(400, field + ": 'unknown' is reserved for samples of no class",
                      {field, "another name", "'unknown'"});
    if (class_places_.contains(name) && !removed.contains(name))
      throw HttpError({field, "a new name", "'" + name + "', a class of the model"});
    if (!added.insert(name).second) throw HttpError({field, "a new name", "'" + name + "' again"});
  }
}

/// What attributes have that are not named: those of the class that it is like. Without such a class, they are NaN.
std::vector<float> BankNames::start_of(const AddedClass& added, const std::string& field) const {
  if (!added.like) return std::vector<float>(attributes_.size(), std::numeric_limits<float>::quiet_NaN());
  const auto found = class_places_.find(*added.like);
  if (found == class_places_.end())
    unknown_name(field + ".like", "a class of the model", *added.like, model_.classes.names);
  const auto& described = model_.classes.described;
  if (!described.empty() && described[found->second] == 0)
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

}  // namespace parsnets
