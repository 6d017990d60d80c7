#pragma once
// Which photographs, and of which classes.

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace parsnets {

struct ListedImage {
  std::filesystem::path file;
  std::string name;        ///< for image_files.csv: below its folder; as given for single files and several folders
  std::string class_name;  ///< empty: not known
};

struct ImageList {
  std::vector<ListedImage> images;                 ///< by name, each once
  std::vector<std::string> class_names;            ///< sorted; empty: no image has a class
  std::vector<std::string> empty_folders;          ///< of classes, without images
  std::vector<std::string> unused_labels;          ///< files in the table of labels that are not among the images
  std::map<std::string, std::size_t> other_files;  ///< how many other files are in the folders, by their endings
};

/// "3 files (2 .heic, 1 .txt)": the most frequent endings first. Empty if there are none.
std::string describe_other_files(const ImageList& list);

/// Whether a name ends in .jpg, .jpeg, .png, .webp or .bmp, in any case.
bool has_image_ending(const std::filesystem::path& file);

/// The images of `places`: single files, and folders with all folders below them. Links to folders
/// are followed, circles of them once. Names that begin with a dot are left out. No class names are gathered. Throws
/// bad_input when there are no images, and for names that are not UTF-8.
ImageList find_images(const std::vector<std::filesystem::path>& places);

/// The same with their classes. The class of an image is the first folder below the one given, or that of `labels`, a
/// .csv with the columns `file` and `class`, which names every image as `name` does. Throws bad_input also when some
/// have a class and others have none.
ImageList list_images(const std::vector<std::filesystem::path>& places, const std::filesystem::path& labels = {});

}  // namespace parsnets
