#pragma once
// Photographs as rows of features, some at a time.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backbone_module.hpp"
#include "images/image_header.hpp"
#include "images/image_list.hpp"
#include "parsnets/error.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets::cli {

/// A photograph that was read, or was skipped for a problem.
struct SampleImage {
  std::size_t sample;  ///< its place among all images, unreadable ones included
  std::string image, problem = {};
};

/// --backbone, --force and --max-pixels, for commands that take features or photographs as --input.
void add_photo_options(OptionTable& options, BackboneChoice& backbone);
/// Without --backbone, photographs are read with that of the model. Throws usage for what does not go together with
/// photographs, and for several files of features.
void check_photographs(const std::vector<std::string>& input, BackboneChoice& backbone);

/// Files and folders that the values of an option name. A value that is no file or folder is a list, separated by
/// commas.
std::vector<std::filesystem::path> image_places(const std::vector<std::string>& values, const std::string& option);

/// Images that --input names: files and folders. By name, each once. Throws bad_input where there are none. Tells
/// `progress` what is left out of the folders.
std::vector<ListedImage> photos_of(const std::vector<std::string>& input, ProgressObserver* progress);

/// What is left out of the folders, a line each with its end.
std::string left_out_text(const ImageList& list);

class PhotoRows {
 public:
  /// Refers to `pool` and `progress`. Opens the network that made the features of `trained`, as open_backbone_of().
  PhotoRows(std::vector<ListedImage> images, const std::optional<FeatureSource>& trained,
            const BackboneChoice& backbone, ThreadPool& pool, ProgressObserver* progress);

  std::size_t total() const { return images_.size(); }
  std::size_t cols() const { return backbone_.source.dimensions; }
  /// Features of the next images that can be read, at most `count`, and not more than are decoded at a time; none at
  /// the end. Valid until the next call. The bits do not depend on the number of rows. Throws bad_input at the end if
  /// no image can be read.
  MatrixView<const float> next(std::size_t count);
  /// The images of those rows.
  std::span<const SampleImage> images() const { return read_; }
  /// All so far.
  std::span<const SampleImage> unreadable() const { return unreadable_; }

  /// File name of the network.
  const std::string& network() const { return backbone_.source.backbone; }
  /// Bytes that decoding and the network take at most, beside what is held now.
  double decoding_bytes() const { return backbone_.bytes; }

 private:
  void skip(SampleImage image);

  std::vector<ListedImage> images_;
  OpenedBackbone backbone_;
  ImageLimits limits_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
  std::size_t next_ = 0;
  Matrix<float> features_;
  std::vector<SampleImage> read_;
  std::vector<SampleImage> unreadable_;
  std::optional<Error> first_error_;
};

}  // namespace parsnets::cli
