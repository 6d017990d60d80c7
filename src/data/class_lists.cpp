#include "data/class_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "base/file.hpp"
#include "data/folder.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

constexpr const char *kTrainval = "trainvalclasses.txt", *kTest = "testclasses.txt", *kVal = "valclasses1.txt";

bool holds(const std::vector<std::int32_t>& classes, std::int32_t c) {
  return std::ranges::find(classes, c) != classes.end();
}

}  // namespace

std::vector<std::int32_t> read_class_list(const fs::path& file, const std::vector<std::string>& class_names) {
  std::vector<std::int32_t> classes;
  if (!fs::exists(file)) return classes;
  std::map<std::string_view, std::int32_t> places;
  for (std::size_t c = 0; c < class_names.size(); ++c) places.emplace(class_names[c], static_cast<std::int32_t>(c));
  std::istringstream text(read_text_file(file, 1u << 20));
  for (std::string name; std::getline(text, name);) {
    while (!name.empty() && (name.back() == '\r' || name.back() == ' ')) name.pop_back();
    if (name.empty()) continue;
    const auto found = places.find(name);
    if (found == places.end())
      throw Error(BadInput{file.string(), name, "a class of the data set", "none of that name",
                           "correct the list; the classes are " + quoted_list(class_names)});
    if (holds(classes, found->second))
      throw Error(
          BadInput{file.string(), name, "each class only once", "'" + name + "' twice", "remove the duplicate"});
    classes.push_back(found->second);
  }
  return classes;
}

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

}  // namespace parsnets
