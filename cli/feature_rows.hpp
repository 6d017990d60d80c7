#pragma once
// Features given on the command line as a file of their own or as standard input.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "data/feature_source.hpp"
#include "data/sample_files.hpp"
#include "data/split_file.hpp"
#include "formats/csv.hpp"
#include "images/image_list.hpp"
#include "parsnets/error.hpp"
#include "parsnets/feature_source.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"

namespace parsnets::cli {

/// n x d from an .npy (mapped where it can be), .npz or .csv file, or from `features` of a .mat file. `trained` is what
/// made the features of the model they are for. With a memory limit (0: none), large values stay on disk. Throws
/// bad_input, also for features of another backbone.
inline Matrix<float> read_feature_input(const std::filesystem::path& file, const std::optional<FeatureSource>& trained,
                                        ProgressObserver* progress, std::uint64_t memory_limit) {
  require_same_source(trained, read_feature_source(file), file.string());
  const MatrixPlace place = MatrixPlace::within(memory_limit);
  if (file.extension() == ".mat") {
    const auto mat = MatFile::open(file);
    require_variable(*mat, "features");
    return mat->read_columns("features", progress, place);
  }
  for (const char* ending : {".npy", ".npz", ".csv"})
    if (file.extension() == ending) return read_feature_file(file, progress, place);
  throw Error(BadInput{file.string(), "", "a .npy, .npz, .csv or .mat file",
                       std::filesystem::is_directory(file) ? "a folder" : "'" + file.extension().string() + "'",
                       std::filesystem::is_directory(file) || has_image_ending(file)
                           ? "extract the features of photographs first, with 'parsnets extract'"
                           : "convert it, e.g. with numpy.save"});
}

/// The file of features, where `input` is a folder with one; else `input`.
std::filesystem::path features_file(const std::filesystem::path& input);

/// Samples to predict, some at a time.
struct FeatureRows {
  std::string name;       ///< for messages
  std::size_t total = 0;  ///< rows in all; 0: not known
  std::size_t cols = 0;
  /// The next rows, at most so many; none at the end. Valid until the next call. Throws bad_input naming the line of a
  /// row that is not made of finite numbers.
  std::function<MatrixView<const float>(std::size_t)> next;
};

/// Rows of a .npy, .npz, .mat or .csv file, or of .npy or .csv on standard input ("-"). CSV is read as it comes, so
/// that memory does not grow with the number of rows; a .npy on standard input goes through a temporary file. `trained`
/// is what made the features of the model that the rows are for. Refers to `progress`, through which reading is
/// cancelled. With a memory limit (0: none), large arrays stay on disk. Throws bad_input, also for features of another
/// backbone.
FeatureRows feature_rows(const std::string& input, const std::optional<FeatureSource>& trained,
                         ProgressObserver* progress, std::uint64_t memory_limit);

}  // namespace parsnets::cli
