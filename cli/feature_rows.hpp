#pragma once
// Samples to predict, from a file, from standard input or from photographs, some at a time.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "parsnets/feature_source.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "photo_rows.hpp"

namespace parsnets::cli {

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
