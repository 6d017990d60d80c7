#include "base/scratch_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/options.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::string scratch_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

[[noreturn]] void refuse(const std::string& what, std::uint64_t bytes, const std::string& found) {
  throw Error(BadInput{scratch_folder(), "", format_bytes(static_cast<double>(bytes)) + " of free space for " + what,
                       found, "set TMPDIR to a folder with more space, or raise " + option_name("memory-limit")});
}

}  // namespace

ScratchFile::ScratchFile(std::uint64_t bytes, const std::string& what) {
  const std::string folder = scratch_folder();
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0) refuse(what, bytes, std::strerror(errno));
  const std::uint64_t available = std::uint64_t{room.f_bavail} * room.f_frsize;
  if (available < bytes) refuse(what, bytes, format_bytes(static_cast<double>(available)));
  fd_ = unnamed_file(folder);
  if (fd_ < 0) refuse(what, bytes, std::strerror(errno));
  // Without room for a page, a write to the mapping would end the process.
  if (const int why = ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes)); why != 0)
    refuse(what, bytes, std::strerror(why));
}

void ScratchFile::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  for (const char* in = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t put = ::pwrite(fd_, in, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse("temporary values", bytes, std::strerror(errno));
    in += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
}

void ScratchFile::read_at(std::uint64_t offset, void* destination, std::size_t bytes) {
  for (char* out = static_cast<char*>(destination); bytes > 0;) {
    const ssize_t got = ::pread(fd_, out, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw Error(ErrorCode::failure, std::string("cannot read a temporary file: ") +
                                          (got < 0 ? std::strerror(errno) : "its end is missing"));
    out += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

Matrix<float> new_matrix(std::size_t rows, std::size_t cols, const MatrixPlace& place, const std::string& what) {
  if (!place.on_disk(rows, cols)) return {rows, cols};
  const std::size_t bytes = rows * cols * sizeof(float);
  const ScratchFile file(bytes, what);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  if (mapped == MAP_FAILED) refuse(what, bytes, std::strerror(errno));
  return Matrix<float>::adopt_mapped(static_cast<float*>(mapped), rows, cols,
                                     [bytes](float* values) { ::munmap(values, bytes); });
}

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
