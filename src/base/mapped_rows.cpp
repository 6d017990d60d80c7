#include "base/mapped_rows.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace parsnets {

void release_rows(const Matrix<float>& matrix, std::size_t first, std::size_t count) {
  if (!matrix.is_mapped() || count == 0) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t row = matrix.cols() * sizeof(float);
  const auto start = reinterpret_cast<std::uintptr_t>(matrix.data());
  const std::uintptr_t begin = start + first * row, end = begin + count * row;
  // A page that is shared with a row before may go, too: it is read again. One shared with a row after may be in use.
  const std::uintptr_t from = begin / page * page, to = end / page * page;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace parsnets
