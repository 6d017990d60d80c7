/* Preloaded into a program: counts its calls on files below $FAULT_FOLDER, which it runs in, and spoils
 * call number $FAULT_AT.
 *
 * $FAULT_KIND: kill (SIGKILL before the call), fail (the call returns an error), short (from this call on, every read
 * and write does a part of its work), or memory (of the allocations of main, this one fails). At the end, $FAULT_COUNT
 * gets the number of calls and that of allocations. Programs that it starts are left alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
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
static long at, calls, allocations;
static int running;     /* main, in which allocations may fail */
static char ours[MOST]; /* descriptors of files below the folder */

static void begin(void) {
  const char *place = getenv("FAULT_AT");
  if (folder != NULL) return;
  folder = getenv("FAULT_FOLDER") != NULL ? getenv("FAULT_FOLDER") : "/nowhere";
  kind = getenv("FAULT_KIND") != NULL ? getenv("FAULT_KIND") : "";
  at = place != NULL ? atol(place) : 0;
  unsetenv("LD_PRELOAD");
}

static int is_below(const char *path) {
  begin();
  return path != NULL && (*path != '/' || strncmp(path, folder, strlen(folder)) == 0);
}

static int is_ours(int fd) { return fd >= 0 && fd < MOST && ours[fd]; }

/* Whether this call has to fail. */
static int spoilt(int why) {
  const long call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (call != at || *kind == 's' || *kind == 'm') return 0;
  if (*kind == 'k') raise(SIGKILL);
  errno = why;
  return 1;
}

/* Whether this allocation has to fail. */
static int refused(void) {
  if (!running || __atomic_add_fetch(&allocations, 1, __ATOMIC_SEQ_CST) != at || *kind != 'm') return 0;
  errno = ENOMEM;
  return 1;
}

static size_t shortened(size_t bytes) { return *kind == 's' && calls >= at && bytes > 1 ? bytes / 2 : bytes; }

static int kept(int fd, int below) {
  if (fd >= 0 && fd < MOST) ours[fd] = (char)below;
  return fd;
}

static int put(char *text, long number, char after) {
  char digits[24];
  int length = 0, i = 0;
  do digits[length++] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  while (length > 0) text[i++] = digits[--length];
  text[i++] = after;
  return i;
}

__attribute__((destructor)) static void tell(void) {
  const char *file = getenv("FAULT_COUNT");
  char text[64];
  int length, fd;
  if (file == NULL || (fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0600)) < 0) return;
  length = put(text, calls, ' ');
  length += put(text + length, allocations, '\n');
  if (syscall(SYS_write, fd, text, length) < 0) _exit(1);
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
#define STREAM(name)                                   \
  FILE *name(const char *path, const char *mode) {     \
    if (is_below(path) && spoilt(EACCES)) return NULL; \
    return REAL(name)(path, mode);                     \
  }
STREAM(fopen)
STREAM(fopen64)

DIR *opendir(const char *path) { return is_below(path) && spoilt(EACCES) ? NULL : REAL(opendir)(path); }

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
    if (is_ours(fd) ? spoilt(ENOMEM) : refused()) return MAP_FAILED;                       \
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

/* The allocator of the C library under its other names: dlsym itself allocates. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return refused() ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *block, size_t bytes) { return refused() ? NULL : __libc_realloc(block, bytes); }
void *aligned_alloc(size_t step, size_t bytes) { return refused() ? NULL : __libc_memalign(step, bytes); }

int posix_memalign(void **block, size_t step, size_t bytes) {
  void *const found = aligned_alloc(step, bytes);
  if (found == NULL) return ENOMEM;
  *block = found;
  return 0;
}

/* What libraries do while they are loaded is theirs: a failure there ends any program. */
void *dlopen(const char *file, int mode) {
  const int was = running;
  void *found;
  running = 0;
  found = REAL(dlopen)(file, mode);
  running = was;
  return found;
}

static int (*real_main)(int, char **, char **);

static int watched_main(int count, char **words, char **environment) {
  int code;
  begin();
  running = 1;
  code = real_main(count, words, environment);
  running = 0;
  return code;
}

int __libc_start_main(int (*main)(int, char **, char **), int count, char **words, void (*init)(void),
                      void (*fini)(void), void (*end)(void), void *stack) {
  real_main = main;
  return REAL(__libc_start_main)(watched_main, count, words, init, fini, end, stack);
}
