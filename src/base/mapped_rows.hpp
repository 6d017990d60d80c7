#pragma once
// Rows of a matrix that is a mapped file can be given back to the system: they are read again when they are used again.

#include <cstddef>
#include <cstdint>
#include <span>

#include "parsnets/matrix.hpp"

namespace parsnets {

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
