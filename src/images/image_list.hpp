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
  std::string name;        ///< path below the folder when one folder is given; else the path as given
  std::string class_name;  ///< empty: not known
};

struct ImageList {
  std::vector<ListedImage> images;                 ///< by name, each once
  std::vector<std::string> class_names;            ///< sorted; empty: no image has a class
  std::vector<std::string> empty_folders;          ///< of classes, without images
  std::vector<std::string> unused_labels;          ///< files in the table of labels that are not among the images
  std::vector<std::string> unlabelled;             ///< images that the table of labels does not name: left out
  std::vector<std::string> broken_links;           ///< in the folders
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
/// .csv with the columns `file` and `class`. A file of it is the image of this name, the one at this path, or, where
/// that is one image alone, the one of which the path ends with it, folder by folder. Throws bad_input also when the
/// table names no image, and when some images have a folder and others have none.
ImageList list_images(const std::vector<std::filesystem::path>& places, const std::filesystem::path& labels = {});

}  // namespace parsnets
