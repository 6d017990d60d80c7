#pragma once
// MATLAB files: v5 (plain and compressed) and v7.3 (HDF5) are read, by parsnets-decode (decode/): this side only takes
// what that hands on. A MATLAB matrix is column-major; it is returned transposed (columns become rows), which moves no
// value.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/decoder.hpp"
#include "base/file.hpp"
#include "base/row_blocks.hpp"
#include "base/scratch_file.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

namespace mat {
/// Deflate never expands by more than this, so a file that declares more is lying.
inline constexpr std::uint64_t kMaxExpansion = 1032;
inline constexpr std::uint64_t kExpansionSlack = 4096;  ///< bytes, for headers
/// What can be asked about a file. All but the list are followed by the number of a variable in it.
enum class Question : std::uint64_t { list = 1, floats, doubles, strings };
}  // namespace mat

struct MatVariable {
  std::string name;
  std::string kind;  ///< "single", "double", "uint8", …, "cell", "char", or what else MATLAB calls it
  std::uint64_t rows = 0, cols = 0;
};

/// A MAT file open for reading, and the process that reads it. Only the directory is read on opening. Not thread-safe.
/// Every method throws bad_input with the file, the variable and what was expected; sizes are checked against the bytes
/// of the file before memory is allocated.
class MatFile {
 public:
  /// Tells the version by content; throws bad_input for v4, other files and damaged headers.
  static std::unique_ptr<MatFile> open(const std::filesystem::path& path);

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

  const std::string& name() const { return file_.name(); }

 private:
  explicit MatFile(const std::filesystem::path& path);
  /// Puts the question about a variable, and has take(channel) take the answer.
  void ask(mat::Question question, const std::string& name, const std::function<void(Channel&)>& take);
  template <class T>
  Matrix<T> read_numeric(const std::string& name, ProgressObserver* progress, const MatrixPlace& place);
  [[noreturn]] void refuse(const std::string& variable, std::string expected, std::string found) const;

  InputFile file_;
  Decoder decoder_;
  std::vector<MatVariable> variables_;
};

}  // namespace parsnets
