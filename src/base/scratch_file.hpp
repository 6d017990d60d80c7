#pragma once
// Matrices that need not fit in memory: values of an unlinked temporary file that is mapped.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets {

/// A file without a name in $TMPDIR (/tmp without it), which goes with this object. Not thread-safe.
class ScratchFile {
 public:
  /// Takes the room at once. Throws bad_input naming the folder when there is too little; `what` is for the message.
  ScratchFile(std::uint64_t bytes, const std::string& what);

  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  void read_at(std::uint64_t offset, void* destination, std::size_t bytes);
  int descriptor() const { return fd_; }

 private:
  Descriptor fd_;
};

/// Where a reader puts a matrix.
struct MatrixPlace {
  std::uint64_t on_disk_from = 0;  ///< bytes from which a matrix goes to a temporary file; 0: never
  std::uint64_t memory_limit = 0;  ///< bytes for the whole process, for what a reader needs beside the matrix; 0: none

  /// In memory as long as a matrix takes no more than a quarter of the limit; 0: no limit.
  static MatrixPlace within(std::uint64_t memory_limit) { return {memory_limit / 4, memory_limit}; }
  bool on_disk(std::uint64_t rows, std::uint64_t cols) const {
    return on_disk_from > 0 &&
           static_cast<double>(rows) * static_cast<double>(cols) * sizeof(float) > static_cast<double>(on_disk_from);
  }
};

/// `rows` x `cols` values to write. One on disk is mapped: rows that were written can be given back (release_rows) and
/// keep their values. Throws as ScratchFile; `what` says what the values are.
Matrix<float> new_matrix(std::size_t rows, std::size_t cols, const MatrixPlace& place, const std::string& what);

// Rows of a matrix that is a mapped file can be given back to the system: they are read again when they are used again.

/// Takes rows first, …, first + count − 1 out of the memory of this process, as far as whole pages go. Does nothing
/// unless the matrix is mapped. The values stay the same: a mapped matrix is never written to.
void release_rows(const Matrix<float>& matrix, std::size_t first, std::size_t count);

/// Gives rows of a mapped matrix back while they are read or written in any order, about every 16 MB. The matrix must
/// outlive it. Does nothing for a matrix in memory.
class UsedRows {
 public:
  explicit UsedRows(const Matrix<float>& matrix) : matrix_(&matrix) {}
  explicit UsedRows(const Matrix<double>&) {}  ///< these are never mapped
  ~UsedRows() { release(); }
  UsedRows(const UsedRows&) = delete;
  UsedRows& operator=(const UsedRows&) = delete;

  /// Rows first, …, first + count − 1 have been used, wholly or in part, and are not needed any more.
  void add(std::size_t first, std::size_t count);

 private:
  void release();

  const Matrix<float>* matrix_ = nullptr;
  std::size_t begin_ = 0, end_ = 0, last_ = 0;  ///< rows since the last release; the end of the latest ones
  std::size_t touched_ = 0;                     ///< bytes
};

/// The chosen rows, in the order given. Those of a mapped matrix leave memory as they are copied.
Matrix<float> gather_rows(const Matrix<float>& matrix, std::span<const std::int32_t> rows);

}  // namespace parsnets
