#pragma once
// Labels in .npy, .npz and .csv files, and names of images. Internal to src/data.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace parsnets {

/// Labels counted from 0, and where they come from.
struct FileLabels {
  std::filesystem::path file;
  std::vector<std::int32_t> labels;
  bool base_assumed = false;  ///< neither the first nor the last class of either base occurs
};

/// What numbers in a file of labels count from.
enum class LabelBase {
  zero,  ///< 0
  any    ///< 1 where the number of classes occurs, otherwise 0
};

/// labels.npy|npz|csv of the folder, or the member `labels` of `features` if that is an .npz: numbers or class names.
/// Nothing when there is none.
std::optional<FileLabels> read_label_file(const std::filesystem::path& folder, const std::filesystem::path& features,
                                          const std::vector<std::string>& class_names, LabelBase base);

/// The names in image_files.csv; none without it. Throws bad_input unless there are `samples` of them.
std::vector<std::string> read_image_files(const std::filesystem::path& folder, std::size_t samples);

}  // namespace parsnets
