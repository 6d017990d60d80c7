#pragma once
// The file to read: opened before the sandbox was entered.

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/file.hpp"
#include "parsnets/error.hpp"

namespace parsnets::decode {

class Input {
 public:
  explicit Input(Descriptor file) : fd_(std::move(file)) {
    struct stat st {};
    if (::fstat(fd_, &st) == 0) size_ = static_cast<std::uint64_t>(st.st_size);
  }

  std::uint64_t size() const { return size_; }
  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return size_ - position_; }
  /// Throws bad_input when `offset` lies beyond the end.
  void seek(std::uint64_t offset) {
    if (offset > size_) refuse("", "an offset inside the file", std::to_string(offset));
    position_ = offset;
  }
  /// Reads exactly `bytes`; throws bad_input naming `field` when the file ends before.
  void read(void* destination, std::size_t bytes, std::string_view field) {
    for (auto* out = static_cast<char*>(destination); bytes > 0;) {
      const ssize_t got = ::pread(fd_, out, bytes, static_cast<off_t>(position_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(field, "a readable file", std::strerror(errno));
      if (got == 0) refuse(field, std::to_string(bytes) + " more bytes", "the end of the file");
      out += got;
      position_ += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
  }

 private:
  [[noreturn]] static void refuse(std::string_view field, std::string expected, std::string found) {
    throw Error(BadInput{"", std::string(field), std::move(expected), std::move(found),
                         "the file is truncated: copy or download it again"});
  }

  Descriptor fd_;
  std::uint64_t size_ = 0, position_ = 0;
};

}  // namespace parsnets::decode
