#pragma once
// Features in .npy, .npz and .csv files: whole, or some samples at a time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/npy.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// N x d.
Matrix<float> read_feature_file(const std::filesystem::path& file, ProgressObserver* progress,
                                const MatrixPlace& place = {});

/// N; reads the lines of a .csv.
std::size_t count_feature_rows(const std::filesystem::path& file);

/// A reader of data.features_file, or nothing for files that must be loaded whole: .csv, .mat, Fortran order. Throws
/// bad_input unless there is one row per label.
std::unique_ptr<NpyRowReader> open_feature_rows(const Dataset& data);

/// Those of data.features_file, where the options ask for them; it is no .mat. Throws bad_input unless there is one row
/// per label.
void read_features(const LoadOptions& options, Dataset& data, ProgressObserver* progress);

// Labels in .npy, .npz and .csv files, and names of images. Internal to src/data.

/// Labels counted from 0, and where they come from.
struct FileLabels {
  std::filesystem::path file;
  std::vector<std::int32_t> labels;
  bool by_name = false;       ///< class names, not numbers
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
