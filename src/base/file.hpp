#pragma once
// Files: opened for reading with errors a person can act on, written so that a good file is never lost.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "parsnets/progress.hpp"

namespace parsnets {

/// Of an open file, which it closes in the end; negative: none.
class Descriptor {
 public:
  Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  operator int() const { return fd_; }

 private:
  int fd_;
};

/// A regular file open for reading. Not thread-safe.
class InputFile {
 public:
  /// Throws bad_input when the path is missing, a directory, not a regular file, unreadable or empty.
  explicit InputFile(const std::filesystem::path& path);

  const std::string& name() const { return name_; }  ///< the path as given, for messages
  std::uint64_t size() const { return size_; }
  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return size_ - position_; }
  /// Throws bad_input when `offset` lies beyond the end.
  void seek(std::uint64_t offset);
  /// Reads exactly `bytes` at the position; throws bad_input naming `field` when the file ends before.
  void read(void* destination, std::size_t bytes, std::string_view field);
  /// Reads at most `bytes`; returns how many (0 at the end).
  std::size_t read_some(void* destination, std::size_t bytes);
  int descriptor() const { return fd_; }

 private:
  std::string name_;
  Descriptor fd_;
  std::uint64_t size_ = 0, position_ = 0;
};

/// A whole file mapped privately: reads share the page cache, writes (if any) stay in memory.
class MappedFile {
 public:
  /// Errors as InputFile.
  explicit MappedFile(const std::filesystem::path& path);
  /// A copy of the file, which stays whole whatever happens to the file: a mapped one that is cut short ends the
  /// process when it is read.
  static MappedFile copied(const std::filesystem::path& path);

  std::span<std::byte> bytes() const { return {data_.get(), data_.get_deleter().size}; }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(std::byte* data) const;
  };
  MappedFile(const InputFile& file, int flags);
  std::unique_ptr<std::byte[], Unmap> data_;
};

/// Writes to a temporary file beside `path`; commit() syncs it and renames it over `path`. Without commit() the
/// temporary file is removed and an earlier `path` stays as it was; that of a killed process is removed by the next
/// writer of `path`. Goes through symbolic links and keeps mode and owner of an earlier file, as far as the process may
/// set them. Write errors throw Error(failure).
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  Descriptor fd_;
};

/// Goes when it is closed. Negative, with errno: there can be none.
Descriptor unnamed_file(const std::filesystem::path& folder);

/// Throws bad_input, naming the path and what to do, unless a file can be written at `path`: before long work, so that
/// its result is not lost. Folders on the way may be missing. Leaves nothing behind and an existing file as it is.
void check_writable(const std::filesystem::path& path);
/// The same for a folder that is to hold files.
void check_writable_folder(const std::filesystem::path& folder);
/// Makes the folders on the way to `path`. Throws Error(failure).
void make_folder_of(const std::filesystem::path& path);

/// Whole text file; refuses files above `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit = 256u << 20);
/// Writes `text` atomically.
void write_text_file(const std::filesystem::path& path, std::string_view text);

// A change of a file that other processes change, too.

/// Holds a file for reading, changing and replacing it as one step: another process that asks for the same file waits
/// until this object is gone. The lock (flock) is on the file itself, so that no lock file is left behind; since a
/// replaced file is another one of the same name, the lock counts only if the name still leads to it once it is held.
/// Replace the file at most once, as the last thing done under the lock. Readers do not wait.
class FileLock {
 public:
  /// Waits for its turn, and says so through `progress`. Throws bad_input when the file cannot be opened, failure when
  /// its file system has no locks, cancelled when the observer asks to stop.
  FileLock(const std::filesystem::path& path, ProgressObserver* progress);

 private:
  Descriptor fd_;
};

// SHA-256 (FIPS 180-4), to tell versions of a file apart.

/// 64 hexadecimal digits.
std::string sha256_of(std::span<const std::byte> bytes);
/// Of the bytes of a file. Throws bad_input as InputFile.
std::string sha256_of_file(const std::filesystem::path& file);

// Progress of reading a large file, in megabytes; also where a reader notices that it was cancelled.

class LoadProgress {
 public:
  /// `bytes`: how many are going to be read in all.
  LoadProgress(ProgressObserver* observer, const std::filesystem::path& file, std::uint64_t bytes)
      : observer_(observer), stage_("load " + file.filename().string()), bytes_(bytes) {
    tell();
  }

  /// Throws Error(cancelled) when the observer says so; asks it every 8 MB and at the end.
  void advance(std::uint64_t bytes) {
    done_ += bytes;
    if (done_ - told_ < kStep && done_ < bytes_) return;
    tell();
  }

 private:
  static constexpr std::uint64_t kStep = 8u << 20, kMegabyte = 1'000'000;

  void tell() {
    told_ = done_;
    report(observer_, {stage_, done_ / kMegabyte, bytes_ / kMegabyte, "MB"});
  }

  ProgressObserver* observer_;
  std::string stage_;
  std::uint64_t bytes_, done_ = 0, told_ = 0;
};

}  // namespace parsnets
