/* Preloaded into a program: counts its calls on files below $FAULT_FOLDER, and spoils call number $FAULT_AT.
 *
 * $FAULT_KIND: kill (SIGKILL before the call), fail (the call returns an error), or short (from this call on, every
 * read and write does a part of its work). At the end, $FAULT_COUNT gets the number of calls, one of all processes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 4096 };
static const char *folder, *kind;
static long at, calls;
static char ours[MOST]; /* descriptors of files below the folder */

static void begin(void) {
  const char *place = getenv("FAULT_AT");
  if (folder != NULL) return;
  folder = getenv("FAULT_FOLDER") != NULL ? getenv("FAULT_FOLDER") : "/nowhere";
  kind = getenv("FAULT_KIND") != NULL ? getenv("FAULT_KIND") : "";
  at = place != NULL ? atol(place) : 0;
}

static int is_below(const char *path) {
  begin();
  return path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_ours(int fd) { return fd >= 0 && fd < MOST && ours[fd]; }

/* Whether this call has to fail. */
static int spoilt(int why) {
  const long call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (call != at || *kind == 's') return 0;
  if (*kind == 'k') raise(SIGKILL);
  errno = why;
  return 1;
}

static size_t shortened(size_t bytes) { return *kind == 's' && calls >= at && bytes > 1 ? bytes / 2 : bytes; }

static int kept(int fd, int below) {
  if (fd >= 0 && fd < MOST) ours[fd] = (char)below;
  return fd;
}

__attribute__((destructor)) static void tell(void) {
  const char *file = getenv("FAULT_COUNT");
  char text[24];
  int length = 0, fd;
  long left = calls;
  if (file == NULL || (fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0600)) < 0) return;
  do text[sizeof text - 1 - (size_t)length++] = (char)('0' + left % 10);
  while ((left /= 10) > 0);
  if (syscall(SYS_write, fd, text + sizeof text - length, length) < 0) _exit(1);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                          \
  int name(const char *path, int flags, ...) {                              \
    va_list more;                                                           \
    mode_t mode;                                                            \
    const int below = is_below(path);                                       \
    va_start(more, flags);                                                  \
    mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                           \
    if (below && spoilt(EACCES)) return -1;                                 \
    return kept(REAL(name)(path, flags, mode), below);                      \
  }
OPEN(open)
OPEN(open64)

#define MAKE(name)                                                              \
  int name(char *path, int flags) {                                             \
    const int below = is_below(path);                                           \
    return below && spoilt(EACCES) ? -1 : kept(REAL(name)(path, flags), below); \
  }
MAKE(mkostemp)
MAKE(mkostemp64)

#define ON_FILE(type, name, why, parameters, arguments) \
  type name parameters { return is_ours(fd) && spoilt(why) ? (type)-1 : REAL(name) arguments; }
ON_FILE(ssize_t, writev, ENOSPC, (int fd, const struct iovec *parts, int count), (fd, parts, count))
ON_FILE(int, fsync, EIO, (int fd), (fd))
ON_FILE(int, ftruncate, EIO, (int fd, off_t size), (fd, size))
ON_FILE(int, ftruncate64, EIO, (int fd, off64_t size), (fd, size))
ON_FILE(int, fchmod, EPERM, (int fd, mode_t mode), (fd, mode))
ON_FILE(int, fchown, EPERM, (int fd, uid_t user, gid_t group), (fd, user, group))
ON_FILE(int, flock, ENOLCK, (int fd, int operation), (fd, operation))

#define ON_BYTES(name, why, parameters, bytes, arguments) \
  ssize_t name parameters {                               \
    if (is_ours(fd) && spoilt(why)) return -1;            \
    if (is_ours(fd)) bytes = shortened(bytes);            \
    return REAL(name) arguments;                          \
  }
ON_BYTES(write, ENOSPC, (int fd, const void *data, size_t bytes), bytes, (fd, data, bytes))
ON_BYTES(pwrite, ENOSPC, (int fd, const void *data, size_t bytes, off_t where), bytes, (fd, data, bytes, where))
ON_BYTES(pwrite64, ENOSPC, (int fd, const void *data, size_t bytes, off64_t where), bytes, (fd, data, bytes, where))
ON_BYTES(read, EIO, (int fd, void *data, size_t bytes), bytes, (fd, data, bytes))
ON_BYTES(pread, EIO, (int fd, void *data, size_t bytes, off_t where), bytes, (fd, data, bytes, where))
ON_BYTES(pread64, EIO, (int fd, void *data, size_t bytes, off64_t where), bytes, (fd, data, bytes, where))

#define MAP(name, offset)                                                                  \
  void *name(void *place, size_t bytes, int protection, int flags, int fd, offset where) { \
    if (is_ours(fd) && spoilt(ENOMEM)) return MAP_FAILED;                                  \
    return REAL(name)(place, bytes, protection, flags, fd, where);                         \
  }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

#define ON_PATH(name, why, parameters, path, arguments) \
  int name parameters { return is_below(path) && spoilt(why) ? -1 : REAL(name) arguments; }
ON_PATH(rename, EIO, (const char *from, const char *to), from, (from, to))
ON_PATH(unlink, EIO, (const char *path), path, (path))
ON_PATH(remove, EIO, (const char *path), path, (path))
ON_PATH(mkdir, EACCES, (const char *path, mode_t mode), path, (path, mode))

int close(int fd) {
  kept(fd, 0);
  return REAL(close)(fd);
}
