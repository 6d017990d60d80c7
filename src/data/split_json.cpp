#include "data/split_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "data/folder.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

Indices read_classes(const nlohmann::json& object, const std::string& key, const std::vector<std::string>& class_names,
                     const std::string& file) {
  Indices classes;
  if (!object.contains(key)) return classes;
  const auto& list = object.at(key);
  if (!list.is_array()) throw Error(BadInput{file, key, "an array of class names", list.type_name(), ""});
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t c = 0; c < class_names.size(); ++c) places.emplace(class_names[c], c);
  std::vector<char> taken(class_names.size(), 0);
  const auto class_of = [&](const nlohmann::json& item) {
    if (item.is_string()) {
      const auto named = places.find(item.get_ref<const std::string&>());
      return named == places.end() ? class_names.end()
                                   : class_names.begin() + static_cast<std::ptrdiff_t>(named->second);
    }
    if (!item.is_number_integer())
      throw Error(
          BadInput{file, key, "class names as strings, or class numbers from 0", item.dump().substr(0, 40), ""});
    const bool there = item.is_number_unsigned() && item.get<std::uint64_t>() < class_names.size();
    return there ? class_names.begin() + static_cast<std::ptrdiff_t>(item.get<std::uint64_t>()) : class_names.end();
  };
  for (const auto& item : list) {
    const auto found = class_of(item);
    if (found == class_names.end())
      throw Error(BadInput{file, key, "a class of the data set",
                           item.is_string() ? "'" + item.get<std::string>() + "'" : item.dump(),
                           "the classes are " + quoted_list(class_names)});
    const auto index = static_cast<std::int32_t>(found - class_names.begin());
    if (std::exchange(taken[static_cast<std::size_t>(index)], 1))
      throw Error(BadInput{file, key, "each class only once", "'" + *found + "' twice", "remove the duplicate"});
    classes.push_back(index);
  }
  return classes;
}

Indices read_samples(const nlohmann::json& object, const std::string& key, std::size_t samples,
                     const std::string& file) {
  Indices indices;
  if (!object.contains(key)) return indices;
  const auto& list = object.at(key);
  if (!list.is_array()) throw Error(BadInput{file, key, "an array of 0-based sample indices", list.type_name(), ""});
  std::vector<char> taken(samples, 0);
  for (const auto& item : list) {
    if (!item.is_number_integer())
      throw Error(BadInput{file, key, "sample indices as integers", item.dump().substr(0, 40), ""});
    const auto index =
        item.is_number_unsigned() && item.get<std::uint64_t>() > (1ull << 62) ? -1 : item.get<std::int64_t>();
    if (index < 0 || index >= static_cast<std::int64_t>(samples))
      throw Error(BadInput{file, key, fmt::format("sample indices from 0 to {}", samples - 1), item.dump(), ""});
    if (taken[static_cast<std::size_t>(index)]++)
      throw Error(
          BadInput{file, key, "each sample only once", fmt::format("sample {} twice", index), "remove the duplicate"});
    indices.push_back(static_cast<std::int32_t>(index));
  }
  return indices;
}

nlohmann::ordered_json name_list(const Indices& classes, const std::vector<std::string>& class_names) {
  auto list = nlohmann::ordered_json::array();
  for (const auto c : classes) list.push_back(class_names[static_cast<std::size_t>(c)]);
  return list;
}

nlohmann::ordered_json to_json(const ClassSplit& split, const std::vector<std::string>& class_names) {
  nlohmann::ordered_json object;
  object["unseen_classes"] = name_list(split.unseen_classes, class_names);
  if (!split.val_classes.empty()) object["val_classes"] = name_list(split.val_classes, class_names);
  object["test_seen_samples"] = split.test_seen;
  return object;
}

nlohmann::json parse(const std::filesystem::path& file) {
  nlohmann::json object = read_json_file(file);
  if (!object.is_object())
    throw Error(BadInput{file.string(), "", "a JSON object with unseen_classes", object.type_name(), ""});
  static const std::set<std::string> known{"unseen_classes",   "test_seen_samples",   "val_classes",   "description",
                                           "trainval_samples", "test_unseen_samples", "train_samples", "val_samples"};
  for (const auto& [key, unused] : object.items())
    if (!known.contains(key))
      throw Error(BadInput{file.string(), key, "one of " + quoted_list({known.begin(), known.end()}), "an unknown key",
                           "correct its name or remove it"});
  return object;
}

}  // namespace

Split read_split_json(const std::filesystem::path& file, const std::vector<std::string>& class_names,
                      const std::vector<std::int32_t>& labels, std::uint64_t seed) {
  const std::string name = file.string();
  const nlohmann::json object = parse(file);
  ClassSplit classes;
  classes.unseen_classes = read_classes(object, "unseen_classes", class_names, name);
  if (classes.unseen_classes.empty())
    throw Error(BadInput{name, "unseen_classes", "the names of the unseen classes", "none",
                         "name them, or draw a split as docs/data.md describes"});
  classes.val_classes = read_classes(object, "val_classes", class_names, name);
  for (const auto c : classes.val_classes)
    if (std::count(classes.unseen_classes.begin(), classes.unseen_classes.end(), c) > 0)
      throw Error(BadInput{name, "val_classes", "classes that are not unseen",
                           "'" + class_names[static_cast<std::size_t>(c)] + "'",
                           "validation on a test class would leak: choose a seen class"});
  classes.test_seen = read_samples(object, "test_seen_samples", labels.size(), name);
  for (const auto s : classes.test_seen) {
    const auto c = labels[static_cast<std::size_t>(s)];
    if (std::count(classes.unseen_classes.begin(), classes.unseen_classes.end(), c) > 0)
      throw Error(BadInput{name, "test_seen_samples", "samples of seen classes",
                           fmt::format("sample {} of unseen class '{}'", s, class_names[static_cast<std::size_t>(c)]),
                           ""});
  }
  Split split = split_from_classes(classes, labels);
  if (object.contains("trainval_samples"))
    split.trainval = read_samples(object, "trainval_samples", labels.size(), name);
  if (object.contains("test_unseen_samples"))
    split.test_unseen = read_samples(object, "test_unseen_samples", labels.size(), name);
  split.train = read_samples(object, "train_samples", labels.size(), name);
  split.val = read_samples(object, "val_samples", labels.size(), name);
  if (split.train.empty() || split.val.empty())
    derive_validation(split, labels, classes.val_classes, seed);
  else
    split.validation_from = "train_samples and val_samples";
  return split;
}

void write_split_json(const std::filesystem::path& file, const ClassSplit& split,
                      const std::vector<std::string>& class_names) {
  const auto object = to_json(split, class_names);
  write_text_file(file, object.dump() + "\n");
}

void write_split_json(const std::filesystem::path& file, const Split& split,
                      const std::vector<std::string>& class_names, const std::vector<std::int32_t>& labels) {
  const auto classes = [&](const Indices& samples) {
    std::set<std::int32_t> found;
    for (const auto s : samples) found.insert(labels[static_cast<std::size_t>(s)]);
    return Indices(found.begin(), found.end());
  };
  const auto sorted = [](Indices list) {
    std::sort(list.begin(), list.end());
    return list;
  };
  // A validation set that was drawn is drawn again from the same classes.
  const bool named = !split.validation_drawn && !split.val.empty();
  const ClassSplit by_class{classes(split.test_unseen), named ? classes(split.val) : Indices{},
                            sorted(split.test_seen)};
  auto object = to_json(by_class, class_names);
  // What classes alone do not express is written out, so that every list survives, in its order: that of the training
  // samples has a part in the last bits of a model.
  Split derived = split_from_classes(by_class, labels);
  derived.trainval = split.trainval;
  derive_validation(derived, labels, by_class.val_classes, 1);
  if (split_from_classes(by_class, labels).trainval != split.trainval) object["trainval_samples"] = split.trainval;
  if (derived.test_unseen != sorted(split.test_unseen)) object["test_unseen_samples"] = sorted(split.test_unseen);
  if (named && (derived.train != split.train || derived.val != split.val)) {
    object["train_samples"] = split.train;
    object["val_samples"] = split.val;
  }
  write_text_file(file, object.dump() + "\n");
}

}  // namespace parsnets
