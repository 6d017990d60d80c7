#include "base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

int open_regular(const std::string& name, std::uint64_t& size) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int why = errno;
    throw Error(BadInput{name, "", "a readable file", std::strerror(why),
                         why == ENOENT ? "check the path" : "check the file's permissions"});
  }
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    ::close(fd);
    throw Error(BadInput{name, "", "a regular file", S_ISDIR(st.st_mode) ? "a directory" : "a special file",
                         "give the path of a file"});
  }
  if (st.st_size == 0) {
    ::close(fd);
    throw Error(BadInput{name, "", "a non-empty file", "an empty file", "write or download it again"});
  }
  size = static_cast<std::uint64_t>(st.st_size);
  return fd;
}

[[noreturn]] void write_failed(const std::filesystem::path& path, int why) {
  throw Error(ErrorCode::failure, "cannot write " + path.string() + ": " + std::strerror(why));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Makes and removes a file in `folder`, or in the nearest folder above that is there; errors name `wanted`.
void try_to_write(const std::filesystem::path& folder, const std::filesystem::path& wanted) {
  std::error_code unknown;
  std::filesystem::path nearest = std::filesystem::absolute(folder).lexically_normal();
  while (!std::filesystem::exists(std::filesystem::symlink_status(nearest, unknown)) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  std::string probe = (nearest / ".parsnets-XXXXXX").string();
  const int fd = ::mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0)
    throw Error(BadInput{wanted.string(), "", "a writable path", nearest.string() + ": " + std::strerror(errno),
                         "choose a folder that you may write to"});
  ::close(fd);
  ::unlink(probe.c_str());
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) { fd_ = open_regular(name_, size_); }

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      position_(other.position_) {}

void InputFile::seek(std::uint64_t offset) {
  if (offset > size_)
    throw Error(BadInput{name_, "offset " + std::to_string(offset), "an offset inside the file",
                         "a file of " + std::to_string(size_) + " bytes",
                         "the file is truncated: copy or download it again"});
  position_ = offset;
}

std::size_t InputFile::read_some(void* destination, std::size_t bytes) {
  for (;;) {
    const ssize_t got = ::pread(fd_, destination, bytes, static_cast<off_t>(position_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(BadInput{name_, "", "a readable file", std::strerror(errno), "check the disk"});
    position_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
}

void InputFile::read(void* destination, std::size_t bytes, std::string_view field) {
  auto* out = static_cast<char*>(destination);
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t got = read_some(out + done, bytes - done);
    if (got == 0)
      throw Error(BadInput{
          name_, std::string(field), std::to_string(bytes) + " bytes at offset " + std::to_string(position_ - done),
          "the end of the file after " + std::to_string(done), "the file is truncated: copy or download it again"});
    done += got;
  }
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  std::uint64_t size = 0;
  const int fd = open_regular(path.string(), size);
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  const int why = errno;
  ::close(fd);
  if (mapped == MAP_FAILED)
    throw Error(BadInput{path.string(), "", "a file that can be mapped", std::strerror(why), ""});
  data_ = static_cast<std::byte*>(mapped);
  size_ = size;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::string pattern = path.string() + ".tmp-XXXXXX";
  fd_ = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (fd_ < 0) write_failed(path, errno);
  temporary_ = pattern;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  write_at(position_, data, bytes);
  position_ += bytes;
}

void AtomicFile::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  const auto* in = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::pwrite(fd_, in, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) write_failed(path_, errno);
    in += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
}

void AtomicFile::commit() {
  // A library may have replaced the temporary file by name; sync what is there now.
  const int fd = ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::fsync(fd) != 0) {
    const int why = errno;
    if (fd >= 0) ::close(fd);
    write_failed(path_, why);
  }
  ::close(fd);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) write_failed(path_, errno);
  temporary_.clear();
  const int dir = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir >= 0) {
    ::fsync(dir);
    ::close(dir);
  }
}

void check_writable(const std::filesystem::path& path) {
  std::error_code unknown;
  const auto there = std::filesystem::status(path, unknown);
  const bool folder = std::filesystem::is_directory(there) || !path.has_filename();
  if (folder || (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)))
    throw Error(BadInput{path.string(), "", "a file to write", folder ? "a directory" : "a special file",
                         "give the path of a file"});
  try_to_write(folder_of(path), path);
}

void check_writable_folder(const std::filesystem::path& folder) { try_to_write(folder, folder); }

void make_folder_of(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(folder_of(path), error);
  if (error)
    throw Error(ErrorCode::failure, "cannot create the folder " + folder_of(path).string() + ": " + error.message());
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  InputFile file(path);
  if (file.size() > limit)
    throw Error(BadInput{file.name(), "", "a text file of at most " + std::to_string(limit) + " bytes",
                         std::to_string(file.size()) + " bytes", ""});
  std::string text(file.size(), '\0');
  file.read(text.data(), text.size(), "text");
  return text;
}

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace parsnets
