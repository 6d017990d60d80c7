#pragma once
// Rows of a matrix that is a mapped file can be given back to the system: they are read again when they are used again.

#include <cstddef>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// Takes rows first, …, first + count − 1 out of the memory of this process, as far as whole pages go. Does nothing
/// unless the matrix is mapped. The values stay the same: a mapped matrix is never written to.
void release_rows(const Matrix<float>& matrix, std::size_t first, std::size_t count);

}  // namespace parsnets
