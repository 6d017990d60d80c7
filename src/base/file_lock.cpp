#include "base/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

int open_to_lock(const std::string& name) {
  int fd = ::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);  // network file systems lock only what may be written
  if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EISDIR))
    fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const int why = errno;
  if (fd < 0)
    throw Error(BadInput{name, "", "a readable file", std::strerror(why),
                         why == ENOENT ? "check the path" : "check the file's permissions"});
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

bool is_file_at(int fd, const std::string& name) {
  struct stat held {
  }, there{};
  return ::fstat(fd, &held) == 0 && ::stat(name.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, ProgressObserver* progress) {
  const std::string name = path.string();
  try {
    for (;;) {
      fd_ = open_to_lock(name);
      wait_for(fd_, name, progress);
      if (is_file_at(fd_, name)) return;
      ::close(fd_);  // replaced while we waited
      fd_ = -1;
    }
  } catch (...) {
    if (fd_ >= 0) ::close(fd_);
    throw;
  }
}

FileLock::~FileLock() { ::close(fd_); }

}  // namespace parsnets
