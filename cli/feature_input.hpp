#pragma once
// Features given on the command line as a file of their own.

#include <filesystem>
#include <optional>
#include <string>

#include "data/feature_rows.hpp"
#include "data/feature_source.hpp"
#include "data/split_file.hpp"
#include "formats/csv.hpp"
#include "images/image_list.hpp"
#include "parsnets/error.hpp"

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

/// A name as a cell of a CSV line.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace parsnets::cli
