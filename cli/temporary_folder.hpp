#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "parsnets/error.hpp"

namespace parsnets::cli {

/// A folder of its own in $TMPDIR (/tmp without it), removed with this object and all that is in it.
class TemporaryFolder {
 public:
  /// Throws failure.
  TemporaryFolder() {
    std::error_code none;
    const auto place = std::filesystem::temp_directory_path(none);
    std::string name = ((none ? std::filesystem::path("/tmp") : place) / "parsnets-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error(ErrorCode::failure, "cannot write " + name + ": " + std::strerror(errno));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace parsnets::cli
