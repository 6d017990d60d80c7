#include "images/image_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

std::string lower_ending(const fs::path& file) { return in_lower_case(file.extension().string()); }

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
struct FolderWalk {
  const fs::path& root;
  bool alone;
  ImageList& list;

  void run() {
    std::set<fs::path> seen{fs::canonical(root)};
    for (const auto& path : visit(root, "")) {
      const std::string name = path.filename().string();
      const std::size_t before = list.images.size();
      auto below = seen;
      if (!below.insert(fs::canonical(path)).second) continue;
      visit_below(path, name, below);
      if (list.images.size() == before) list.empty_folders.push_back(name);
    }
  }

  void visit_below(const fs::path& folder, const std::string& class_name, std::set<fs::path>& seen) {
    for (const auto& path : visit(folder, class_name))
      if (seen.insert(fs::canonical(path)).second) visit_below(path, class_name, seen);
  }

  /// Adds the images of one folder. Returns its folders by name, links last: a folder has its own name first.
  std::vector<fs::path> visit(const fs::path& folder, const std::string& class_name) {
    std::vector<fs::path> folders, links;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (is_hidden(entry.path())) continue;
      std::error_code absent;  // a link to nothing is no file
      const fs::path name = alone ? entry.path().lexically_relative(root).lexically_normal() : entry.path();
      if (entry.is_directory(absent)) {
        (entry.is_symlink(absent) ? links : folders).push_back(entry.path());
      } else if (entry.is_symlink(absent) && !entry.exists(absent)) {
        list.broken_links.push_back(name.generic_string());
      } else if (has_image_ending(entry.path()) && entry.is_regular_file(absent)) {
        list.images.push_back({entry.path(), name.generic_string(), class_name});
      } else {
        ++list.other_files[short_ending(entry.path())];
      }
    }
    std::ranges::sort(folders);
    std::ranges::sort(links);
    folders.insert(folders.end(), links.begin(), links.end());
    return folders;
  }
};

void add_folder(const fs::path& folder, bool alone, ImageList& list) try {
  FolderWalk{folder, alone, list}.run();
  std::ranges::sort(list.empty_folders);
} catch (const fs::filesystem_error& error) {
  throw Error(
      BadInput{error.path1().string(), "", "a readable folder", error.code().message(), "check its permissions"});
}

std::string normal(const std::string& name) { return fs::path(name).lexically_normal().generic_string(); }

/// Whether a path ends with another one, folder by folder.
bool ends_with_path(const std::string& path, const std::string& end) {
  return path == end || (path.ends_with(end) && path[path.size() - end.size() - 1] == '/');
}

struct Label {
  std::string where, file, class_name;
};

std::vector<Label> read_labels(const fs::path& file) {
  const CsvCells table = read_csv(file, true);
  const auto column = [&](const char* name) {
    const auto found = std::ranges::find(table.header, name);
    if (found == table.header.end())
      throw Error(BadInput{file.string(), "header", "the columns 'file' and 'class'",
                           fmt::format("{}", fmt::join(table.header, ", ")), "the first line names the columns"});
    return static_cast<std::size_t>(found - table.header.begin());
  };
  const std::size_t files = column("file"), classes = column("class");
  std::vector<Label> labels;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    labels.push_back({fmt::format("{}:{}", file.string(), table.line(r)), normal(std::string(table.cell(r, files))),
                      std::string(table.cell(r, classes))});
    for (const std::size_t cell : {files, classes})
      if (table.cell(r, cell).empty())
        throw Error(BadInput{labels.back().where, table.header[cell],
                             cell == files ? "the name of an image" : "a class name", "an empty cell",
                             "fill it in, or remove the line"});
  }
  return labels;
}

/// The images that the files of labels mean.
class LabelledImages {
 public:
  explicit LabelledImages(const std::vector<ListedImage>& images) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      by_name_.emplace(normal(images[i].name), i);
      paths_.push_back(normal(fs::absolute(images[i].file).string()));
      by_path_.emplace(paths_.back(), i);
      by_file_name_[images[i].file.filename().string()].push_back(i);
    }
  }

  /// Nothing: none of the images. Throws bad_input when it may be several.
  std::optional<std::size_t> find(const Label& label) const {
    if (const auto found = by_name_.find(label.file); found != by_name_.end()) return found->second;
    const auto from_here = by_path_.find(normal(fs::absolute(label.file).string()));
    if (from_here != by_path_.end()) return from_here->second;
    std::optional<std::size_t> meant;
    const auto candidates = by_file_name_.find(fs::path(label.file).filename().string());
    if (candidates == by_file_name_.end()) return meant;
    for (const std::size_t i : candidates->second) {
      if (!ends_with_path(paths_[i], label.file)) continue;
      if (meant)
        throw Error(BadInput{label.where, "file", "the name of one image",
                             fmt::format("'{}', which may be '{}' or '{}'", label.file, paths_[*meant], paths_[i]),
                             "give more of its path"});
      meant = i;
    }
    return meant;
  }

 private:
  std::vector<std::string> paths_;
  std::map<std::string, std::size_t> by_name_, by_path_;
  std::map<std::string, std::vector<std::size_t>> by_file_name_;
};

/// Gives images their classes; those without one leave the list.
void label(ImageList& list, const fs::path& file) {
  const std::vector<Label> labels = read_labels(file);
  const LabelledImages images(list.images);
  std::vector<const Label*> label_of(list.images.size());
  for (const Label& one : labels) {
    const auto image = images.find(one);
    if (!image) {
      list.unused_labels.push_back(one.file);
      continue;
    }
    const Label*& known = label_of[*image];
    if (known != nullptr && known->class_name != one.class_name)
      throw Error(BadInput{one.where, "class", fmt::format("one class for '{}'", list.images[*image].name),
                           fmt::format("'{}' and '{}'", known->class_name, one.class_name), "keep one line per file"});
    known = &one;
  }
  for (std::size_t i = 0; i < list.images.size(); ++i) {
    ListedImage& image = list.images[i];
    image.class_name = label_of[i] == nullptr ? "" : label_of[i]->class_name;
    if (image.class_name.empty()) list.unlabelled.push_back(image.name);
  }
  if (list.unlabelled.size() == list.images.size())
    throw Error(
        BadInput{file.string(), "file", "names of images",
                 fmt::format("none of the {} images, such as '{}'", list.images.size(), list.unlabelled.front()),
                 "give each file by its path below the folder of images, or by its name"});
  std::erase_if(list.images, [](const ListedImage& image) { return image.class_name.empty(); });
  list.empty_folders.clear();  // folders are no classes here
}

/// An image that several places have gets the class that one of them gives. Throws bad_input if two give it two, unless
/// these do not matter.
void keep_each_once(ImageList& list, bool disputes_matter) {
  std::vector<ListedImage> once;
  std::map<std::string, std::size_t> known;
  for (auto& image : list.images) {
    const auto [place, added] = known.emplace(normal(image.name), once.size());
    if (added) {
      once.push_back(std::move(image));
      continue;
    }
    ListedImage& first = once[place->second];
    if (first.class_name.empty())
      first.class_name = image.class_name;
    else if (disputes_matter && !image.class_name.empty() && image.class_name != first.class_name)
      throw Error(BadInput{
          image.file.string(), "class", "one class of an image",
          fmt::format("'{}' and '{}', by folders one of which is within the other", first.class_name, image.class_name),
          "name one of them, or give the classes by " + option_name("labels")});
  }
  list.images = std::move(once);
}

ImageList gather_images(const std::vector<fs::path>& places, bool disputes_matter) {
  ImageList list;
  for (const auto& place : places) {
    std::error_code error;
    if (fs::is_directory(place, error))
      add_folder(place, places.size() == 1, list);
    else if (fs::exists(place, error))
      list.images.push_back({place, place.generic_string(), ""});
    else
      throw Error(BadInput{place.string(), "", "a folder of photographs or an image file",
                           fs::is_symlink(place, error) ? "a broken link" : "no such file or folder",
                           "check the path"});
  }
  if (list.images.empty())
    throw Error(BadInput{places.empty() ? "images" : places.front().string(), "",
                         "images that end in .jpg, .jpeg, .png, .webp or .bmp",
                         list.other_files.empty() ? "none" : "none among " + describe_other_files(list),
                         list.other_files.empty() ? "check the path" : "check the path, or convert the files"});
  for (const auto& image : list.images)
    if (!is_utf8(image.name))
      throw Error(BadInput{image.file.string(), "", "a name in UTF-8", "other bytes", "rename the file"});
  keep_each_once(list, disputes_matter);
  std::ranges::sort(list.images, {}, &ListedImage::name);
  std::ranges::sort(list.broken_links);
  return list;
}

}  // namespace

bool has_image_ending(const fs::path& file) {
  constexpr std::array<const char*, 8> kEndings{".jpg", ".jpeg", ".jfif", ".jpe", ".jif", ".png", ".webp", ".bmp"};
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

ImageList find_images(const std::vector<fs::path>& places) { return gather_images(places, false); }

ImageList list_images(const std::vector<fs::path>& places, const fs::path& labels) {
  ImageList list = gather_images(places, labels.empty());
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
