#pragma once
// MATLAB files: v5 (plain and compressed, `mat_v5*`) and v7.3 (HDF5, `mat_v73*`) are read.
// A MATLAB matrix is column-major; it is returned transposed (columns become rows), which moves no value.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_blocks.hpp"
#include "base/scratch_file.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

namespace mat {
class Array;
}

struct MatVariable {
  std::string name;
  std::string kind;  ///< "single", "double", "uint8", …, "cell", "char", or what else MATLAB calls it
  std::uint64_t rows = 0, cols = 0;
};

/// A MAT file open for reading. Only the directory is read on opening. Not thread-safe. Every method throws bad_input
/// with the file, the variable and what was expected; declared sizes are checked against the bytes that are there
/// before memory is allocated.
class MatFile {
 public:
  /// Tells the version by content; throws bad_input for v4, other files and damaged headers.
  static std::unique_ptr<MatFile> open(const std::filesystem::path& path);
  virtual ~MatFile() = default;

  const std::vector<MatVariable>& variables() const { return variables_; }
  /// Null when there is no such variable.
  const MatVariable* find(std::string_view name) const;

  /// Real numeric variable of rows x cols as a cols x rows float32 matrix (each MATLAB column one row). Streams: beside
  /// the result it needs at most a few MB. Any integer or floating type.
  Matrix<float> read_columns(const std::string& name, ProgressObserver* progress = nullptr,
                             const MatrixPlace& place = {});
  /// The same in float64 (indices, labels, small tables).
  Matrix<double> read_columns_double(const std::string& name);
  /// Cell array of char vectors (or char matrix, one row each) as UTF-8 strings, in column-major order.
  std::vector<std::string> read_strings(const std::string& name);

  const std::string& name() const { return name_; }

 protected:
  explicit MatFile(std::string name) : name_(std::move(name)) {}
  std::string name_;
  std::vector<MatVariable> variables_;

 private:
  /// Opens variables_[index].
  virtual std::unique_ptr<mat::Array> open_array(std::size_t index) = 0;
  std::unique_ptr<mat::Array> open_array(const std::string& name);
  template <class T>
  Matrix<T> read_numeric(const std::string& name, ProgressObserver* progress, const MatrixPlace& place);
};

}  // namespace parsnets
