#include "images/image_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "formats/csv.hpp"
#include "formats/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

std::string lower_ending(const fs::path& file) {
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return ending;
}

/// An ending that can be printed, or "other".
std::string short_ending(const fs::path& file) {
  constexpr std::size_t kLongest = 10;
  std::string ending = lower_ending(file);
  const auto plain = [](char c) { return c == '.' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return ending.size() > 1 && ending.size() <= kLongest && std::ranges::all_of(ending, plain) ? ending : "other";
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// The images below one folder. Links to folders are followed, but below a folder of the first level each folder is
/// visited once, so that links in a circle end.
class FolderWalk {
 public:
  FolderWalk(const fs::path& folder, bool alone, ImageList& list) : folder_(folder), alone_(alone), list_(list) {}

  void run() {
    std::set<fs::path> seen{fs::canonical(folder_)};
    std::vector<fs::path> classes;
    visit(folder_, "", classes);
    for (const auto& path : classes) {
      const std::string name = path.filename().string();
      const std::size_t before = list_.images.size();
      auto below = seen;
      if (!below.insert(fs::canonical(path)).second) continue;
      visit_below(path, name, below);
      if (list_.images.size() == before) list_.empty_folders.push_back(name);
    }
  }

 private:
  void visit_below(const fs::path& folder, const std::string& class_name, std::set<fs::path>& seen) {
    std::vector<fs::path> folders;
    visit(folder, class_name, folders);
    for (const auto& path : folders)
      if (seen.insert(fs::canonical(path)).second) visit_below(path, class_name, seen);
  }

  /// Adds the images of one folder. Returns its folders by name, links last: a folder has its own name first.
  void visit(const fs::path& folder, const std::string& class_name, std::vector<fs::path>& folders) {
    std::vector<fs::path> links;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (is_hidden(entry.path())) continue;
      std::error_code absent;  // a link to nothing is no file
      if (entry.is_directory(absent)) {
        (entry.is_symlink(absent) ? links : folders).push_back(entry.path());
      } else if (has_image_ending(entry.path()) && entry.is_regular_file(absent)) {
        const fs::path inside = entry.path().lexically_relative(folder_);
        list_.images.push_back({entry.path(), (alone_ ? inside : entry.path()).generic_string(), class_name});
      } else {
        ++list_.other_files[short_ending(entry.path())];
      }
    }
    std::ranges::sort(folders);
    std::ranges::sort(links);
    folders.insert(folders.end(), links.begin(), links.end());
  }

  const fs::path& folder_;
  bool alone_;
  ImageList& list_;
};

void add_folder(const fs::path& folder, bool alone, ImageList& list) try {
  FolderWalk(folder, alone, list).run();
  std::ranges::sort(list.empty_folders);
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
    if (row[classes].empty())
      throw Error(BadInput{where, "class", "a class name", "an empty cell", "fill it in, or remove the line"});
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
  for (const auto& [name, class_name] : class_of)
    if (!used.contains(name)) list.unused_labels.push_back(name);
  list.empty_folders.clear();  // folders are no classes here
}

}  // namespace

bool has_image_ending(const fs::path& file) {
  constexpr std::array<const char*, 5> kEndings{".jpg", ".jpeg", ".png", ".webp", ".bmp"};
  return std::ranges::find(kEndings, lower_ending(file)) != kEndings.end();
}

std::string describe_other_files(const ImageList& list) {
  constexpr std::size_t kShown = 5;
  std::vector<std::pair<std::string, std::size_t>> endings(list.other_files.begin(), list.other_files.end());
  std::ranges::stable_sort(endings, std::greater<>(), &std::pair<std::string, std::size_t>::second);
  std::size_t files = 0;
  std::vector<std::string> parts;
  for (const auto& [ending, count] : endings) {
    files += count;
    if (parts.size() < kShown) parts.push_back(fmt::format("{} {}", count, ending));
  }
  if (endings.size() > kShown) parts.push_back("…");
  return files == 0 ? "" : fmt::format("{} file{} ({})", files, files == 1 ? "" : "s", fmt::join(parts, ", "));
}

namespace {

/// By name, those of several places several times.
ImageList gather_images(const std::vector<fs::path>& places) {
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
                         "images that end in .jpg, .jpeg, .png, .webp or .bmp",
                         list.other_files.empty() ? "none" : "none among " + describe_other_files(list),
                         list.other_files.empty() ? "check the path" : "check the path, or convert the files"});
  for (auto& image : list.images) {
    image.name = fs::path(image.name).lexically_normal().generic_string();
    if (!is_utf8(image.name))
      throw Error(BadInput{image.file.string(), "", "a name in UTF-8", "other bytes", "rename the file"});
  }
  // An image that several of the places have: the class that one of them gives comes first.
  std::ranges::stable_sort(list.images, {}, [](const ListedImage& image) {
    return std::tuple(std::string_view(image.name), image.class_name.empty(), std::string_view(image.class_name));
  });
  return list;
}

void remove_repeats(ImageList& list) {
  const auto twice = std::ranges::unique(list.images, {}, &ListedImage::name);
  list.images.erase(twice.begin(), twice.end());
}

/// Throws bad_input for an image that has one class in one of the places and another in another.
void check_repeats(const ImageList& list) {
  const auto disputed = std::ranges::adjacent_find(list.images, [](const ListedImage& one, const ListedImage& other) {
    return one.name == other.name && !other.class_name.empty() && one.class_name != other.class_name;
  });
  if (disputed != list.images.end())
    throw Error(BadInput{disputed->file.string(), "class", "one class of an image",
                         fmt::format("'{}' and '{}', by folders one of which is within the other", disputed->class_name,
                                     std::next(disputed)->class_name),
                         "name one of them, or give the classes by " + option_name("labels")});
}

}  // namespace

ImageList find_images(const std::vector<fs::path>& places) {
  ImageList list = gather_images(places);
  remove_repeats(list);
  return list;
}

ImageList list_images(const std::vector<fs::path>& places, const fs::path& labels) {
  ImageList list = gather_images(places);
  if (labels.empty()) check_repeats(list);
  remove_repeats(list);
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
