#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

[[noreturn]] void cannot_open(const std::string& name, int why) {
  throw Error(BadInput{name, "", "a readable file", std::strerror(why),
                       why == ENOENT ? "check the path" : "check the file's permissions"});
}

[[noreturn]] void write_failed(const std::filesystem::path& path, int why) {
  throw Error(ErrorCode::failure, "cannot write " + path.string() + ": " + std::strerror(why));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Makes a file in `folder`, or in the nearest folder above that is there; errors name `wanted`.
void try_to_write(const std::filesystem::path& folder, const std::filesystem::path& wanted) {
  std::error_code unknown;
  std::filesystem::path nearest = std::filesystem::absolute(folder).lexically_normal();
  while (!std::filesystem::exists(std::filesystem::symlink_status(nearest, unknown)) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  if (unnamed_file(nearest) < 0)
    throw Error(BadInput{wanted.string(), "", "a writable path", nearest.string() + ": " + std::strerror(errno),
                         "choose a folder that you may write to"});
}

/// Where a file of this name is written: at the end of its symbolic links.
std::filesystem::path target_of(std::filesystem::path path) {
  std::error_code none;
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(path, none)); ++links) {
    if (links == 40) write_failed(path, ELOOP);
    path = folder_of(path) / std::filesystem::read_symlink(path, none);
  }
  return path;
}

/// Returns an errno.
int lock(int fd, int operation) {
  while (::flock(fd, operation) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

bool is_file_at(int fd, const std::string& name) {
  struct stat held {
  }, there{};
  return ::fstat(fd, &held) == 0 && ::stat(name.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

/// A writer holds a lock on its temporary file: one that can be locked was left by a process that was killed.
bool remove_if_abandoned(const std::string& temporary) {
  const Descriptor fd = ::open(temporary.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  return fd >= 0 && lock(fd, LOCK_EX | LOCK_NB) == 0 && is_file_at(fd, temporary) && ::unlink(temporary.c_str()) == 0;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(const std::filesystem::path& path)
    : name_(path.string()), fd_(::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) cannot_open(name_, errno);
  struct stat st {};
  if (::fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode))
    throw Error(BadInput{name_, "", "a regular file", S_ISDIR(st.st_mode) ? "a directory" : "a special file",
                         "give the path of a file"});
  if (st.st_size == 0)
    throw Error(BadInput{name_, "", "a non-empty file", "an empty file", "write or download it again"});
  size_ = static_cast<std::uint64_t>(st.st_size);
}

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

MappedFile::MappedFile(const std::filesystem::path& path) : MappedFile(InputFile(path), MAP_PRIVATE) {}

MappedFile MappedFile::copied(const std::filesystem::path& path) {
  InputFile file(path);
  MappedFile copy(file, MAP_PRIVATE | MAP_ANONYMOUS);
  file.read(copy.data_.get(), file.size(), "");
  return copy;
}

MappedFile::MappedFile(const InputFile& file, int flags) {
  void* mapped = ::mmap(nullptr, file.size(), PROT_READ | PROT_WRITE, flags,
                        (flags & MAP_ANONYMOUS) != 0 ? -1 : file.descriptor(), 0);
  if (mapped == MAP_FAILED)
    throw Error(BadInput{file.name(), "", "a file that can be mapped", std::strerror(errno), ""});
  data_ = {static_cast<std::byte*>(mapped), Unmap{file.size()}};
}

void MappedFile::Unmap::operator()(std::byte* data) const { ::munmap(data, size); }

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(target_of(path)) {
  struct stat earlier {};
  const bool replaces = ::stat(path_.c_str(), &earlier) == 0;
  const auto numbered = [&](int number) { return path_.string() + ".parsnets-" + std::to_string(number); };
  int number = 0;
  while (fd_ < 0) {
    temporary_ = numbered(number);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
    if (fd_ < 0 && errno != EEXIST) write_failed(path, errno);
    if (fd_ < 0 && !remove_if_abandoned(temporary_)) ++number;
    if (fd_ >= 0 && lock(fd_, LOCK_EX) == 0 && !is_file_at(fd_, temporary_)) fd_ = {};  // taken for abandoned
  }
  while (remove_if_abandoned(numbered(++number))) continue;
  if (!replaces) return;
  // Who is not in the group any more must not let a new one read.
  const bool kept = ::fchown(fd_, earlier.st_uid, earlier.st_gid) == 0 || ::fchown(fd_, -1, earlier.st_gid) == 0;
  ::fchmod(fd_, earlier.st_mode & (kept ? 0777 : 0707));
}

Descriptor unnamed_file(const std::filesystem::path& folder) {
  Descriptor fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = (folder / ".parsnets-XXXXXX").string();  // for file systems without such files
  fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return fd;
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const auto* in = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::write(fd_, in, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) write_failed(path_, errno);
    in += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) write_failed(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) write_failed(path_, errno);
  temporary_.clear();
  fd_ = {};
  const Descriptor folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ::fsync(folder);
}

void check_writable(const std::filesystem::path& path) {
  std::error_code unknown;
  const auto there = std::filesystem::status(path, unknown);
  const bool folder = std::filesystem::is_directory(there) || !path.has_filename();
  if (folder || (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)))
    throw Error(BadInput{path.string(), "", "a file to write", folder ? "a directory" : "a special file",
                         "give the path of a file"});
  try_to_write(folder_of(target_of(path)), path);
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

namespace {

Descriptor open_to_lock(const std::string& name) {
  int fd = ::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);  // network file systems lock only what may be written
  if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EISDIR))
    fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) cannot_open(name, errno);
  return fd;
}

void wait_for(int fd, const std::string& name, ProgressObserver* progress) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) report_message(progress, "waiting for another process that is changing " + name);
  while (::flock(fd, LOCK_EX) != 0) {
    const int why = errno;
    if (why != EINTR) throw Error(ErrorCode::failure, "cannot lock " + name + ": " + std::strerror(why));
    report(progress, {"wait for the file"});  // an interrupt ends here
  }
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, ProgressObserver* progress) {
  const std::string name = path.string();
  do {
    fd_ = open_to_lock(name);
    wait_for(fd_, name, progress);
  } while (!is_file_at(fd_, name));  // it was replaced while we waited
}

namespace {

constexpr std::size_t kBlock = 64;

constexpr std::array<std::uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void compress(State& state, std::span<const unsigned char, kBlock> block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t b = 0; b < 4; ++b) w[i] = w[i] << 8 | block[4 * i + b];
  for (std::size_t i = 16; i < w.size(); ++i) {
    const std::uint32_t low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + kRounds[i] + w[i];
    const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const State added{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

std::string sha256_of(std::span<const std::byte> bytes) {
  State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kBlock> block{};
  std::size_t done = 0;
  for (; done + kBlock <= bytes.size(); done += kBlock) {
    std::memcpy(block.data(), bytes.data() + done, kBlock);
    compress(state, block);
  }
  // The end: a one bit, zeros, and the length in bits as the last 8 bytes of a block.
  const std::size_t left = bytes.size() - done;
  block.fill(0);
  std::copy(bytes.end() - static_cast<std::ptrdiff_t>(left), bytes.end(), reinterpret_cast<std::byte*>(block.data()));
  block[left] = 0x80;
  if (left + 1 > kBlock - 8) {
    compress(state, block);
    block.fill(0);
  }
  const std::uint64_t bits = bytes.size() * 8;
  for (std::size_t i = 0; i < 8; ++i) block[kBlock - 1 - i] = static_cast<unsigned char>(bits >> 8 * i);
  compress(state, block);
  std::string hex;
  for (const auto word : state) hex += fmt::format("{:08x}", word);
  return hex;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return sha256_of(std::as_bytes(std::span(file.bytes())));
}

}  // namespace parsnets
