#pragma once
// Files: opened for reading with errors a person can act on, written so that a good file is never lost.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace parsnets {

/// A regular file open for reading. Not thread-safe.
class InputFile {
 public:
  /// Throws bad_input when the path is missing, a directory, not a regular file, unreadable or empty.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

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
  int fd_ = -1;
  std::uint64_t size_ = 0, position_ = 0;
};

/// A whole file mapped privately: reads share the page cache, writes (if any) stay in memory.
class MappedFile {
 public:
  /// Errors as InputFile.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Writes to a temporary file beside `path`; commit() syncs it and renames it over `path`. Without commit() the
/// temporary file is removed and an earlier `path` stays as it was. Write errors throw Error(failure).
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Overwrites `bytes` at `offset` (a header whose size fields are known at the end).
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  std::uint64_t position() const { return position_; }
  /// The temporary path, for libraries that insist on opening files by name (HDF5, libzip).
  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  std::uint64_t position_ = 0;
};

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

}  // namespace parsnets
