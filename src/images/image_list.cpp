#include "images/image_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "formats/csv.hpp"
#include "formats/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

void add_folder(const fs::path& folder, bool alone, ImageList& list) try {
  std::set<std::string> classes, with_images;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    if (is_hidden(entry->path())) {
      if (entry->is_directory()) entry.disable_recursion_pending();
      continue;
    }
    const fs::path inside = entry->path().lexically_relative(folder);
    if (entry->is_directory() && entry.depth() == 0) classes.insert(inside.string());
    if (!has_image_ending(inside) || !entry->is_regular_file()) continue;
    const std::string class_name = inside.has_parent_path() ? inside.begin()->string() : "";
    with_images.insert(class_name);
    list.images.push_back({entry->path(), (alone ? inside : entry->path()).generic_string(), class_name});
  }
  std::ranges::set_difference(classes, with_images, std::back_inserter(list.empty_folders));
} catch (const fs::filesystem_error& error) {
  throw Error(
      BadInput{error.path1().string(), "", "a readable folder", error.code().message(), "check its permissions"});
}

void label(ImageList& list, const fs::path& file) {
  const CsvTable table = read_csv(file, true);
  const auto column = [&](const char* name) {
    const auto found = std::ranges::find(table.header, name);
    if (found == table.header.end())
      throw Error(BadInput{file.string(), "header", "the columns 'file' and 'class'",
                           fmt::format("{}", fmt::join(table.header, ", ")), "the first line names the columns"});
    return static_cast<std::size_t>(found - table.header.begin());
  };
  const std::size_t files = column("file"), classes = column("class");
  std::map<std::string, std::string> class_of;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& row = table.rows[r];
    const std::string where = fmt::format("{}:{}", file.string(), table.lines[r]);
    if (row[classes].empty()) throw Error(BadInput{where, "class", "a class name", "an empty cell", ""});
    const auto [known, added] =
        class_of.emplace(fs::path(row[files]).lexically_normal().generic_string(), row[classes]);
    if (!added && known->second != row[classes])
      throw Error(BadInput{where, "class", fmt::format("one class for '{}'", row[files]),
                           fmt::format("'{}' and '{}'", known->second, row[classes]), "keep one line per file"});
  }
  std::size_t missing = 0;
  std::string first;
  std::set<std::string> used;
  for (auto& image : list.images) {
    const auto found = class_of.find(image.name);
    if (found == class_of.end() && missing++ == 0) first = image.name;
    if (found == class_of.end()) continue;
    image.class_name = found->second;
    used.insert(image.name);
  }
  if (missing > 0)
    throw Error(BadInput{file.string(), "file", "a line for every image",
                         fmt::format("none for {} images, the first is '{}'", missing, first),
                         "files are named as below the folder of images"});
  list.unused_labels = class_of.size() - used.size();
  list.empty_folders.clear();  // folders are no classes here
}

}  // namespace

bool has_image_ending(const fs::path& file) {
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  constexpr std::array<const char*, 5> kEndings{".jpg", ".jpeg", ".png", ".webp", ".bmp"};
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

ImageList find_images(const std::vector<fs::path>& places) {
  ImageList list;
  for (const auto& place : places) {
    std::error_code error;
    if (fs::is_directory(place, error))
      add_folder(place, places.size() == 1, list);
    else if (fs::exists(place, error))
      list.images.push_back({place, place.generic_string(), ""});
    else
      throw Error(BadInput{place.string(), "", "a folder of photographs or an image file", "no such file or folder",
                           "check the path"});
  }
  if (list.images.empty())
    throw Error(BadInput{places.empty() ? "images" : places.front().string(), "",
                         "images that end in .jpg, .jpeg, .png, .webp or .bmp", "none", "check the path"});
  for (auto& image : list.images) {
    image.name = fs::path(image.name).lexically_normal().generic_string();
    if (!is_utf8(image.name))
      throw Error(BadInput{image.file.string(), "", "a name in UTF-8", "other bytes", "rename the file"});
  }
  std::ranges::sort(list.images, {}, &ListedImage::name);
  const auto twice = std::ranges::unique(list.images, {}, &ListedImage::name);
  list.images.erase(twice.begin(), twice.end());
  return list;
}

ImageList list_images(const std::vector<fs::path>& places, const fs::path& labels) {
  ImageList list = find_images(places);
  if (!labels.empty()) label(list, labels);
  std::set<std::string> names;
  for (const auto& image : list.images) names.insert(image.class_name);
  if (names.size() > 1 && names.contains("")) {
    const auto bare = std::ranges::find(list.images, "", &ListedImage::class_name);
    throw Error(BadInput{bare->file.string(), "class", "every image in the folder of its class", "an image without one",
                         "move it, or give the classes by " + option_name("labels")});
  }
  names.erase("");
  list.class_names.assign(names.begin(), names.end());
  return list;
}

}  // namespace parsnets
