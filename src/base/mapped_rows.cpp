#include "base/mapped_rows.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

void UsedRows::add(std::size_t first, std::size_t count) {
  // The system maps pages around one that is read: 64 kB and more, 370 kB were measured on Linux 6.18.
  constexpr std::size_t kAround = 512u << 10;
  constexpr std::size_t kMost = 16u << 20;
  if (matrix_ == nullptr || !matrix_->is_mapped() || count == 0) return;
  const std::size_t end = std::min(first + count, matrix_->rows()), row = matrix_->cols() * sizeof(float);
  const bool follows = touched_ > 0 && first >= last_ && (first - last_) * row <= kAround;
  begin_ = touched_ == 0 ? first : std::min(begin_, first);
  end_ = touched_ == 0 ? end : std::max(end_, end);
  touched_ += follows ? (end - last_) * row : (end - first) * row + kAround;
  last_ = end;
  if (touched_ >= kMost) release();
}

void UsedRows::release() {
  if (touched_ > 0) release_rows(*matrix_, begin_, end_ - begin_);
  touched_ = 0;
}

Matrix<float> gather_rows(const Matrix<float>& matrix, std::span<const std::int32_t> rows) {
  Matrix<float> out(rows.size(), matrix.cols());
  UsedRows used(matrix);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto r = static_cast<std::size_t>(rows[i]);
    std::ranges::copy(matrix.row(r), out.row(i).begin());
    used.add(r, 1);
  }
  return out;
}

}  // namespace parsnets
