#pragma once
// Samples to predict, from a file, from standard input or from photographs, some at a time.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
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
#include "photo_rows.hpp"

namespace parsnets::cli {

// Features given on the command line as a file of their own.

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

/// A name as a cell of a CSV line.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// Rows of a .npy, .npz, .mat or .csv file, or of .npy or .csv on standard input ("-"). CSV is read as it comes, so
/// that memory does not grow with the number of rows; a .npy on standard input goes through a temporary file. Or rows
/// of photographs.
class FeatureRows {
 public:
  /// `trained` is what made the features of the model that the rows are for. Refers to `progress`, through which
  /// reading is cancelled. With a memory limit (0: none), large arrays stay on disk. Throws bad_input, also for
  /// features of another backbone.
  FeatureRows(const std::string& input, const std::optional<FeatureSource>& trained, ProgressObserver* progress,
              std::uint64_t memory_limit = 0);
  /// Features of photographs, each time for as many images as are decoded at a time.
  explicit FeatureRows(std::unique_ptr<PhotoRows> photos);
  FeatureRows(const FeatureRows&) = delete;
  FeatureRows& operator=(const FeatureRows&) = delete;

  const std::string& name() const { return name_; }  ///< for messages
  std::size_t total() const { return total_; }       ///< rows in all; 0: not known
  std::size_t cols() const { return cols_; }
  /// The next rows, at most `count`; none at the end. Valid until the next call. Throws bad_input naming the line of a
  /// row that is not made of finite numbers.
  MatrixView<const float> next(std::size_t count);

  // Of photographs; nothing for rows of a file.
  std::span<const ReadImage> images() const;            ///< of the rows that next() gave last
  std::span<const UnreadableImage> unreadable() const;  ///< so far
  double decoding_bytes() const;

 private:
  void hand_out(Matrix<float> rows);

  std::string name_;
  std::size_t total_ = 0, cols_ = 0;
  std::unique_ptr<PhotoRows> photos_;
  std::function<MatrixView<const float>(std::size_t)> next_;
};

}  // namespace parsnets::cli
