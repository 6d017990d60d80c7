#include "data/class_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "data/folder_files.hpp"
#include "formats/mat.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Names = std::vector<std::string>;

Names sorted(Names names) {
  std::ranges::sort(names);
  return names;
}

bool only_numbered(const Names& names) {
  for (std::size_t c = 0; c < names.size(); ++c)
    if (names[c] != fmt::format("class_{}", c + 1)) return false;
  return true;
}

/// The name of the folder that an image lies in.
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
  std::map<std::string_view, std::size_t> places;
  for (std::size_t c = 0; c < class_names.size(); ++c) places.emplace(class_names[c], c);
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

}  // namespace

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

void check_class_order(const std::filesystem::path& folder, const std::string& first, Dataset& data) {
  const auto splits_file = [](const std::string& name) { return name + "_splits.mat"; };
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
