#include "data/split_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "base/row_blocks.hpp"
#include "base/text.hpp"
#include "data/folder.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::vector<std::int64_t> read_list(MatFile& file, const std::string& name) {
  if (file.find(name) == nullptr) return {};
  const auto values = file.read_columns_double(name);
  if (values.rows() != 1 && values.cols() != 1)
    throw Error(BadInput{file.name(), name, "a row or a column of sample indices",
                         fmt::format("{} x {}", values.cols(), values.rows()), ""});
  return to_integers(values.values(), file.name(), name);
}

using Indices = std::vector<std::int32_t>;

template <class List>
List sorted(List list) {
  std::ranges::sort(list);
  return list;
}

/// The numbers below `count` that the items of a list stand for. `number_of` throws for an item that stands for none;
/// `name_of` is for messages.
template <class NumberOf, class NameOf>
Indices read_items(const nlohmann::json& object, const std::string& key, const std::string& file,
                   const std::string& kind, const std::string& items, std::size_t count, NumberOf number_of,
                   NameOf name_of) {
  Indices numbers;
  if (!object.contains(key)) return numbers;
  const auto& list = object.at(key);
  if (!list.is_array()) throw Error(BadInput{file, key, "an array of " + items, list.type_name(), ""});
  std::vector<char> taken(count, 0);
  for (const auto& item : list) {
    const std::size_t number = number_of(item);
    if (std::exchange(taken[number], 1))
      throw Error(BadInput{file, key, fmt::format("each {} only once", kind), name_of(number) + " twice",
                           "remove the duplicate"});
    numbers.push_back(static_cast<std::int32_t>(number));
  }
  return numbers;
}

Indices read_classes(const nlohmann::json& object, const std::string& key, const std::vector<std::string>& class_names,
                     const std::string& file) {
  const auto places = places_by_name(class_names);
  const auto number_of = [&](const nlohmann::json& item) -> std::size_t {
    if (item.is_string()) {
      const auto found = places.find(item.get_ref<const std::string&>());
      if (found != places.end()) return found->second;
    } else if (!item.is_number_integer()) {
      throw Error(
          BadInput{file, key, "class names as strings, or class numbers from 0", item.dump().substr(0, 40), ""});
    } else if (item.is_number_unsigned() && item.get<std::uint64_t>() < class_names.size()) {
      return item.get<std::size_t>();
    }
    throw Error(BadInput{file, key, "a class of the data set",
                         item.is_string() ? "'" + item.get<std::string>() + "'" : item.dump(),
                         "the classes are " + quoted_list(class_names)});
  };
  return read_items(object, key, file, "class", "class names", class_names.size(), number_of,
                    [&](std::size_t c) { return "'" + class_names[c] + "'"; });
}

Indices read_samples(const nlohmann::json& object, const std::string& key, std::size_t samples,
                     const std::string& file) {
  const auto number_of = [&](const nlohmann::json& item) {
    if (!item.is_number_integer())
      throw Error(BadInput{file, key, "sample indices as integers", item.dump().substr(0, 40), ""});
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() >= samples)
      throw Error(BadInput{file, key, fmt::format("sample indices from 0 to {}", samples - 1), item.dump(), ""});
    return item.get<std::size_t>();
  };
  return read_items(object, key, file, "sample", "0-based sample indices", samples, number_of,
                    [](std::size_t s) { return fmt::format("sample {}", s); });
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

namespace fs = std::filesystem;

constexpr const char *kTrainval = "trainvalclasses.txt", *kTest = "testclasses.txt", *kVal = "valclasses1.txt";

bool holds(const Indices& classes, std::int32_t c) { return std::ranges::count(classes, c) > 0; }

bool has_class_lists(const fs::path& folder) {
  return fs::is_regular_file(folder / kTrainval) && fs::is_regular_file(folder / kTest);
}

fs::path find_standard_split(const fs::path& data_folder) {
  const fs::path data = fs::absolute(data_folder).lexically_normal();
  const fs::path above = (data.has_filename() ? data : data.parent_path()).parent_path();
  std::string searched;
  for (const fs::path& place : {data / "standard_split", above / "standard_split" / folder_name(data), data}) {
    if (has_class_lists(place)) return place;
    searched += (searched.empty() ? "" : ", ") + place.string();
  }
  throw Error(BadInput{data_folder.string(), option_name("split", kStandardSplit),
                       fmt::format("{} and {} of the standard split", kTrainval, kTest), "neither in " + searched,
                       "put them there, or set " + option_name("split") + " to their folder"});
}

Split read_class_lists(const fs::path& folder, const Dataset& data, std::uint64_t seed) {
  if (!has_class_lists(folder))
    throw Error(BadInput{folder.string(), "", fmt::format("a folder with {} and {}", kTrainval, kTest),
                         fs::exists(folder / kTrainval) || fs::exists(folder / kTest) ? "one of them" : "neither",
                         "write them, a class name per line"});
  const auto trainval = read_class_list(folder / kTrainval, data.class_names),
             test = read_class_list(folder / kTest, data.class_names),
             val = read_class_list(folder / kVal, data.class_names);
  const auto refuse = [&](const char* file, std::int32_t c, const char* expected, const char* found) {
    throw Error(BadInput{(folder / file).string(), data.class_names[static_cast<std::size_t>(c)], expected, found,
                         "correct the lists"});
  };
  for (const auto c : test)
    if (holds(trainval, c)) refuse(kTest, c, "classes that are not trained on", "a class of trainvalclasses.txt");
  for (const auto c : val)
    if (!holds(trainval, c)) refuse(kVal, c, "classes of trainvalclasses.txt", "another class");
  Split split;
  for (std::size_t i = 0; i < data.samples(); ++i) {
    const auto sample = static_cast<std::int32_t>(i);
    if (holds(trainval, data.labels[i])) split.trainval.push_back(sample);
    if (holds(test, data.labels[i])) split.test_unseen.push_back(sample);
  }
  for (const auto& [list, file] : {std::pair{&split.trainval, kTrainval}, std::pair{&split.test_unseen, kTest}})
    if (list->empty())
      throw Error(BadInput{(folder / file).string(), "", "classes with samples", "none", "check the list"});
  derive_validation(split, data.labels, val, seed);
  split.version = "Standard Split (class lists)";
  return split;
}

using Names = std::vector<std::string>;

bool only_numbered(const Names& names) {
  for (std::size_t c = 0; c < names.size(); ++c)
    if (names[c] != fmt::format("class_{}", c + 1)) return false;
  return true;
}

std::string_view folder_of(std::string_view image) {
  constexpr std::string_view kSlashes = "/\\";
  const std::size_t end = image.find_last_of(kSlashes);
  if (end == std::string_view::npos) return {};
  image = image.substr(0, end);
  return image.substr(image.find_last_of(kSlashes) + 1);
}

struct ImageFolders {
  std::size_t named = 0;          ///< samples whose image lies in a folder named after a class
  std::size_t contradicting = 0;  ///< of these, with the label of another class
  std::size_t example = 0;        ///< one of the contradicting
};

ImageFolders compare_with_images(const Dataset& data, const Names& class_names) {
  const auto places = places_by_name(class_names);
  ImageFolders out;
  for (std::size_t i = 0; i < data.image_files.size(); ++i) {
    const auto found = places.find(folder_of(data.image_files[i]));
    if (found == places.end()) continue;
    ++out.named;
    if (found->second == static_cast<std::size_t>(data.labels[i])) continue;
    out.example = i;
    ++out.contradicting;
  }
  return out;
}

/// Throws bad_input naming one class that `names` of `file` has and the data set lacks, or the other way round. Classes
/// that are only numbered (class_1, class_2, …) are not compared.
void check_same_classes(const Names& names, const std::string& file, const Dataset& data) {
  if (only_numbered(names) || only_numbered(data.class_names)) return;
  const auto refuse = [&](const std::string& found) {
    throw Error(BadInput{file, "allclasses_names", fmt::format("the {} classes of the data set", data.classes()), found,
                         "the split is of another data set, or names its classes differently"});
  };
  const Names theirs = sorted(names), ours = sorted(data.class_names);
  for (const auto& name : theirs)
    if (!std::ranges::binary_search(ours, name)) refuse("'" + name + "', which the data set lacks");
  for (const auto& name : ours)
    if (!std::ranges::binary_search(theirs, name)) refuse("none named '" + name + "'");
}

}  // namespace

const MatVariable& require_variable(const MatFile& file, const std::string& variable) {
  if (const auto* found = file.find(variable)) return *found;
  std::vector<std::string> names;
  for (const auto& v : file.variables()) names.push_back(v.name);
  throw Error(BadInput{file.name(), variable, "a variable of that name", quoted_list(names, 12), ""});
}

Split read_mat_lists(MatFile& file, std::size_t samples) {
  for (const auto* name : {"trainval_loc", "test_unseen_loc"}) require_variable(file, name);
  RawSplit raw;
  for (const auto& [name, list, unused] : kSplitLists) raw.*list = read_list(file, name);
  Split split = split_from_lists(raw, samples, file.name());
  split.version = split_layout(split, !raw.train.empty() && !raw.val.empty());
  return split;
}

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
  std::vector<char> unseen(class_names.size(), 0);
  for (const auto c : classes.unseen_classes) unseen[static_cast<std::size_t>(c)] = 1;
  for (const auto c : classes.val_classes)
    if (unseen[static_cast<std::size_t>(c)])
      throw Error(BadInput{name, "val_classes", "classes that are not unseen",
                           "'" + class_names[static_cast<std::size_t>(c)] + "'",
                           "validation on a test class would leak: choose a seen class"});
  classes.test_seen = read_samples(object, "test_seen_samples", labels.size(), name);
  for (const auto s : classes.test_seen) {
    const auto c = labels[static_cast<std::size_t>(s)];
    if (unseen[static_cast<std::size_t>(c)])
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
  write_text_file(file, to_json(split, class_names).dump() + "\n");
}

void write_split_json(const std::filesystem::path& file, const Split& split,
                      const std::vector<std::string>& class_names, const std::vector<std::int32_t>& labels) {
  // A validation set that was drawn is drawn again from the same classes.
  const bool named = !split.validation_drawn && !split.val.empty();
  const ClassSplit by_class{distinct_labels(split.test_unseen, labels),
                            named ? distinct_labels(split.val, labels) : Indices{}, sorted(split.test_seen)};
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

std::vector<std::int32_t> read_class_list(const fs::path& file, const std::vector<std::string>& class_names) {
  std::vector<std::int32_t> classes;
  if (!fs::exists(file)) return classes;
  const auto places = places_by_name(class_names);
  std::istringstream text(read_text_file(file, 1u << 20));
  for (std::string name; std::getline(text, name);) {
    while (!name.empty() && (name.back() == '\r' || name.back() == ' ')) name.pop_back();
    if (name.empty()) continue;
    const auto found = places.find(name);
    if (found == places.end())
      throw Error(BadInput{file.string(), name, "a class of the data set", "none of that name",
                           "correct the list; the classes are " + quoted_list(class_names)});
    const auto number = static_cast<std::int32_t>(found->second);
    if (holds(classes, number))
      throw Error(
          BadInput{file.string(), name, "each class only once", "'" + name + "' twice", "remove the duplicate"});
    classes.push_back(number);
  }
  return classes;
}

Split read_split_file(const std::filesystem::path& file, const std::filesystem::path& folder, const Dataset& data,
                      std::uint64_t seed) {
  if (data.labels.empty())
    throw Error(BadInput{file.string(), "", "a data set with features and labels, which a split file refers to",
                         "semantics only", "add the features, or leave out " + option_name("split")});
  Split split;
  if (file == kStandardSplit) {
    split = read_class_lists(find_standard_split(folder), data, seed);
  } else if (std::filesystem::is_directory(file)) {
    split = read_class_lists(file, data, seed);
  } else if (file.extension() == ".mat") {
    const auto mat = MatFile::open(file);
    if (mat->find("allclasses_names") != nullptr)
      check_same_classes(mat->read_strings("allclasses_names"), file.string(), data);
    split = read_mat_lists(*mat, data.samples());
    derive_validation(split, data.labels, {}, seed);
  } else {
    split = read_split_json(file, data.class_names, data.labels, seed);
  }
  split.file = file == kStandardSplit ? kStandardSplit : folder_name(file);
  return split;
}

void check_class_order(const std::filesystem::path& folder, const std::string& first, Dataset& data) {
  std::string other, fitting;  // files that order the same classes differently; `fitting`: as the images say
  for (const auto& name : splits_names(folder)) {
    if (name == first) continue;
    const auto file = MatFile::open(folder / splits_file(name));
    if (file->find("allclasses_names") == nullptr) continue;
    const Names names = file->read_strings("allclasses_names");
    if (names == data.class_names || sorted(names) != sorted(data.class_names)) continue;
    other = splits_file(name);
    const ImageFolders images = compare_with_images(data, names);
    if (images.named > 0 && images.contradicting == 0) fitting = splits_file(name);
  }
  const ImageFolders images = compare_with_images(data, data.class_names);
  if (2 * images.contradicting > images.named)
    throw Error(BadInput{
        data.features_file, "labels", fmt::format("numbers of the classes in the order of {}", splits_file(first)),
        fmt::format("{} of {} samples with the label of another class than their image folder, such as '{}' with the "
                    "label of '{}'",
                    images.contradicting, images.named, data.image_files[images.example],
                    data.class_names[static_cast<std::size_t>(data.labels[images.example])]),
        fitting.empty() ? "correct the labels or the order of allclasses_names"
                        : fmt::format("the labels are in the order of {}: bring {} into that order, or name the table "
                                      "of the former first",
                                      fitting, splits_file(first))});
  if (images.contradicting > 0)
    data.notes.push_back(fmt::format("{} of {} samples have the label of another class than their image folder",
                                     images.contradicting, images.named));
  else if (images.named == 0 && !other.empty())
    data.notes.push_back(fmt::format("{} and {} order their classes differently: labels are taken in the order of {}",
                                     splits_file(first), other, splits_file(first)));
}

}  // namespace parsnets
